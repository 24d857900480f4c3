// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// encoded is an assignment as clients send it.
func encoded(version int16, topics ...kmsg.ConsumerMemberAssignmentTopic) []byte {
	a := kmsg.ConsumerMemberAssignment{Version: version, Topics: topics}
	return a.AppendTo(nil)
}

func TestParseAssignment(t *testing.T) {
	topic := func(name string, partitions ...int32) kmsg.ConsumerMemberAssignmentTopic {
		return kmsg.ConsumerMemberAssignmentTopic{Topic: name, Partitions: partitions}
	}
	two := encoded(3, topic("b", 2, 0), topic("a", 1))
	for _, tc := range []struct {
		name string
		b    []byte
		want []Assigned
		ok   bool
	}{
		{"before the first", nil, nil, true},
		{"none", encoded(0), nil, true},
		{"two topics", two, []Assigned{{"b", []int32{0, 2}}, {"a", []int32{1}}}, true},
		{"what later versions add", append(slices.Clone(two), 1, 2, 3), []Assigned{{"b", []int32{0, 2}}, {"a", []int32{1}}}, true},
		{"a version below 0", encoded(-1), nil, false},
		{"too short", []byte{0}, nil, false},
		{"more topics than bytes", []byte{0, 1, 0x7f, 0xff, 0xff, 0xff}, nil, false},
		{"a negative number of topics", []byte{0, 1, 0xff, 0xff, 0xff, 0xff}, nil, false},
		{"a name that is cut off", []byte{0, 1, 0, 0, 0, 1, 0, 9, 'a', 0, 0, 0}, nil, false},
		{"more partitions than bytes", []byte{0, 1, 0, 0, 0, 1, 0, 1, 'a', 0x7f, 0xff, 0xff, 0xff}, nil, false},
	} {
		got, ok := parseAssignment(tc.b)
		if ok != tc.ok || !ok && len(got) > 1 {
			t.Errorf("%s: %v", tc.name, ok)
		}
		if diff := cmp.Diff(tc.want, got); ok && diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	m := Member{assignment: two}
	if _, ok := m.Assigned(); ok {
		t.Error("what is assigned in a group of no consumers was read")
	}
}

// Whatever a leader sends, reading it neither fails loudly nor makes more of it than there is. What is read is what franz-go reads.
func FuzzParseAssignment(f *testing.F) {
	f.Add(encoded(1, kmsg.ConsumerMemberAssignmentTopic{Topic: "a", Partitions: []int32{3, 1}}))
	f.Add([]byte{0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := parseAssignment(b)
		size := 0
		for _, a := range got {
			size += len(a.Topic) + 4*len(a.Partitions)
		}
		if size > len(b) {
			t.Fatalf("%d bytes of topics out of %d", size, len(b))
		}
		var theirs kmsg.ConsumerMemberAssignment
		if !ok || theirs.ReadFrom(b) != nil {
			return
		}
		if len(theirs.Topics) != len(got) {
			t.Fatalf("%d topics, franz-go reads %d", len(got), len(theirs.Topics))
		}
		for i, want := range theirs.Topics {
			slices.Sort(want.Partitions)
			if got[i].Topic != want.Topic || !slices.Equal(got[i].Partitions, want.Partitions) {
				t.Fatalf("%v, franz-go reads %v", got[i], want)
			}
		}
	})
}
