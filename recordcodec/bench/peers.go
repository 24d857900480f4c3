// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// franzDecode is franz-go's own decoder, as its clients run it unless they bring pools.
type franzDecode struct {
	decompressor kgo.Decompressor
	partition    kmsg.FetchResponseTopicPartition
}

func newFranzDecode(batch []byte) *franzDecode {
	return &franzDecode{kgo.DefaultDecompressor(), kmsg.FetchResponseTopicPartition{RecordBatches: batch}}
}

func (s *franzDecode) run() (total int, err error) {
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "topic"}, &s.partition, s.decompressor, nil)
	for _, r := range got.Records {
		total += len(r.Value)
	}
	return total, got.Err
}

// segmentioDecode is kafka-go's, from memory.
type segmentioDecode struct {
	sized []byte // a batch with its length before it
}

func newSegmentioDecode(batch []byte) *segmentioDecode {
	return &segmentioDecode{append(binary.BigEndian.AppendUint32(nil, uint32(len(batch))), batch...)}
}

func (s *segmentioDecode) run() (total int, err error) {
	var set protocol.RecordSet
	if _, err := set.ReadFrom(bytes.NewBuffer(s.sized)); err != nil {
		return 0, err
	}
	for {
		r, err := set.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		total += r.Value.Len()
		r.Value.Close()
	}
}

// segmentioEncode is kafka-go's encoder, fed as its Writer feeds it.
type segmentioEncode struct {
	codec  recordcodec.Codec
	values [][]byte
	dst    bytes.Buffer
}

func (s *segmentioEncode) run() (total int, err error) {
	s.dst.Reset()
	set := protocol.RecordSet{Version: 2, Attributes: protocol.Attributes(s.codec), Records: &valueReader{values: s.values}}
	_, err = set.WriteTo(&s.dst)
	return len(s.values) * valueSize, err
}

// valueReader hands values out as records.
type valueReader struct {
	values [][]byte
	next   int
	value  readCloser
	record protocol.Record
}

func (r *valueReader) ReadRecord() (*protocol.Record, error) {
	if r.next == len(r.values) {
		return nil, io.EOF
	}
	r.value.Reset(r.values[r.next])
	r.record = protocol.Record{Time: time.UnixMilli(baseTimestamp + int64(r.next)), Value: &r.value}
	r.next++
	return &r.record, nil
}

type readCloser struct{ bytes.Reader }

func (*readCloser) Close() error { return nil }
