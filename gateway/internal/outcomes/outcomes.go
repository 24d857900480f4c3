// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package outcomes says how a request ended, from its answer: by the first error code in it, in the order of its bytes. One
// code stands for the whole answer, so that a share of failed requests can be told; what each partition was answered, only the
// client knows.
package outcomes

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Of is the first error code of an answer that is not 0, and 0 if there is none. It allocates nothing for what clients ask
// for all the time.
func Of(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		return first(r.Topics, func(t *kmsg.ProduceResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.ProduceResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.ListOffsetsResponse:
		return first(r.Topics, func(t *kmsg.ListOffsetsResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.ListOffsetsResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.MetadataResponse:
		return either(first(r.Topics, func(t *kmsg.MetadataResponseTopic) int16 {
			return either(t.ErrorCode, first(t.Partitions, func(p *kmsg.MetadataResponseTopicPartition) int16 { return p.ErrorCode }))
		}), r.ErrorCode)
	case *kmsg.OffsetCommitResponse:
		return first(r.Topics, func(t *kmsg.OffsetCommitResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.OffsetCommitResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	case *kmsg.ApiVersionsResponse:
		return r.ErrorCode
	case nil:
		return 0
	}
	return search(reflect.ValueOf(resp).Elem())
}

func either(a, b int16) int16 {
	if a != 0 {
		return a
	}
	return b
}

// first is the first code of a list's elements that is not 0.
func first[T any](list []T, of func(*T) int16) int16 {
	for i := range list {
		if code := of(&list[i]); code != 0 {
			return code
		}
	}
	return 0
}

// search looks for a code in a part of any answer, and in the parts of that.
func search(part reflect.Value) int16 {
	for i := range part.NumField() {
		field := part.Field(i)
		var code int16
		switch {
		case part.Type().Field(i).Name == "ErrorCode":
			code = int16(field.Int())
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			for j := 0; code == 0 && j < field.Len(); j++ {
				code = search(field.Index(j))
			}
		}
		if code != 0 {
			return code
		}
	}
	return 0
}
