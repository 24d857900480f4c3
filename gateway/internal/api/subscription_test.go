// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// encodedSubscription is what franz-go's consumers send.
func encodedSubscription(version int16, topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = version, topics
	return m.AppendTo(nil)
}

func TestSubscribedTopics(t *testing.T) {
	metadata := func(all ...[]byte) (protocols []coordinator.Protocol) {
		for _, b := range all {
			protocols = append(protocols, coordinator.Protocol{Metadata: b})
		}
		return protocols
	}
	for version := int16(0); version <= 3; version++ {
		got := subscribedTopics("consumer", metadata(encodedSubscription(version, "b", "a"), encodedSubscription(version, "a", "c")))
		if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
	for name, tc := range map[string]struct {
		kind      string
		protocols []coordinator.Protocol
		want      []string
	}{
		"nothing subscribed":       {"consumer", metadata(encodedSubscription(1)), []string{}},
		"another kind":             {"connect", metadata(encodedSubscription(1, "a")), nil},
		"one that cannot be read":  {"consumer", metadata(encodedSubscription(1, "a"), []byte("range")), nil},
		"empty metadata":           {"consumer", metadata(nil), nil},
		"a version below 0":        {"consumer", metadata([]byte("\xff\xff\x00\x00\x00\x00")), nil},
		"a count below 0":          {"consumer", metadata([]byte("\x00\x00\xff\xff\xff\xff")), nil},
		"a count that lies":        {"consumer", metadata([]byte("\x00\x00\x7f\xff\xff\xff\x00\x01a")), nil},
		"a length that lies":       {"consumer", metadata([]byte("\x00\x00\x00\x00\x00\x01\x00\x02a")), nil},
		"a length below 0":         {"consumer", metadata([]byte("\x00\x00\x00\x00\x00\x01\xff\xffa")), nil},
		"cut before a length":      {"consumer", metadata([]byte("\x00\x00\x00\x00\x00\x02\x00\x02ab\x00")), nil},
		"what a later version has": {"consumer", metadata([]byte("\x00\x09\x00\x00\x00\x01\x00\x01a and more")), []string{"a"}},
	} {
		if diff := cmp.Diff(tc.want, subscribedTopics(tc.kind, tc.protocols)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzSubscription: whatever bytes a member sends, the topics read out of them come from those bytes, and a client's
// decoder that accepts them reads the same ones.
func FuzzSubscription(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x7f\xff\xff\xff\x00\x01a"))
	for version := int16(0); version <= 3; version++ {
		f.Add(encodedSubscription(version, "one", "two", ""))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := appendSubscription(nil, b)
		size := 0
		for _, topic := range got {
			size += len(topic)
		}
		if size > len(b) || len(got) > len(b)/2 {
			t.Fatalf("%d topics of %d bytes out of %d bytes", len(got), size, len(b))
		}
		var m kmsg.ConsumerMemberMetadata
		if err := m.ReadFrom(b); err == nil && m.Version >= 0 {
			if !ok || !slices.Equal(got, m.Topics) {
				t.Fatalf("%q, %v; a client reads %q", got, ok, m.Topics)
			}
		}
	})
}
