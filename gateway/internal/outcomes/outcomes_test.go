// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package outcomes

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Each place of each answer that has an error code is found, and of several the one that comes first.
func TestOf(t *testing.T) {
	for _, api := range wire.NewTable(wire.ServeAll()).APIs() {
		t.Run(api.Name, func(t *testing.T) {
			answer := func() (kmsg.Response, []reflect.Value) {
				resp := kmsg.ResponseForKey(api.Key)
				return resp, fill(reflect.ValueOf(resp).Elem())
			}
			resp, places := answer()
			if got := Of(resp); got != 0 {
				t.Errorf("code %d of an answer without one", got)
			}
			if len(places) == 0 {
				t.Error("no place for a code")
			}
			for i := range places {
				resp, places := answer()
				for n, place := range places[i:] {
					place.SetInt(int64(1 + i + n))
				}
				if got := Of(resp); got != int16(1+i) {
					t.Errorf("code %d, but %d comes first", got, 1+i)
				}
			}
		})
	}
	if got := Of(nil); got != 0 {
		t.Errorf("code %d of no answer", got)
	}
}

// fill gives every list of a part two elements, and returns its places for codes in their order.
func fill(part reflect.Value) (codes []reflect.Value) {
	for i := range part.NumField() {
		field := part.Field(i)
		switch {
		case part.Type().Field(i).Name == "ErrorCode":
			codes = append(codes, field)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			field.Set(reflect.MakeSlice(field.Type(), 2, 2))
			for j := range field.Len() {
				codes = append(codes, fill(field.Index(j))...)
			}
		}
	}
	return codes
}

func TestOfAllocatesNothing(t *testing.T) {
	produced := kmsg.NewPtrProduceResponse()
	produced.Topics = make([]kmsg.ProduceResponseTopic, 2)
	produced.Topics[1].Partitions = make([]kmsg.ProduceResponseTopicPartition, 3)
	produced.Topics[1].Partitions[2].ErrorCode = 7
	got := int16(0)
	if n := testing.AllocsPerRun(100, func() { got = Of(produced) }); n != 0 || got != 7 {
		t.Errorf("%v allocations, code %d", n, got)
	}
}

func TestNames(t *testing.T) {
	for code, want := range map[int16]string{
		-2: "OTHER", -1: "UNKNOWN_SERVER_ERROR", 0: "NONE", 1: "OFFSET_OUT_OF_RANGE", 6: "NOT_LEADER_OR_FOLLOWER",
		79: "MEMBER_ID_REQUIRED", 100: "UNKNOWN_TOPIC_ID", 133: "SHARE_SESSION_LIMIT_REACHED", 134: "OTHER", 32767: "OTHER",
	} {
		if got := Name(Slot(code)); got != want {
			t.Errorf("code %d is %s, not %s", code, got, want)
		}
	}
	seen := map[string]int{}
	for slot := range Codes + 1 {
		name := Name(slot)
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("slots %d and %d are both %q", other, slot, name)
		}
		seen[name] = slot
	}
}
