// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Of several faults the one is told that a broker tells.
func TestValidateTogether(t *testing.T) {
	table := NewTable()
	for _, tc := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, ""},
		{map[string]string{"retention.ms": "x", "zz": "1", "aa": "1"}, "Unknown topic config name: aa"},
		{map[string]string{"cleanup.policy": "shrink", "segment.bytes": "x"}, "Invalid value x for configuration segment.bytes: Not a number of type INT"},
		{map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"},
		{map[string]string{"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"}, ""},
		{map[string]string{"min.compaction.lag.ms": "x", "max.compaction.lag.ms": "5"}, "Invalid value x for configuration min.compaction.lag.ms: Not a number of type LONG"},
	} {
		check(t, fmt.Sprint(tc.settings), table.Validate(tc.settings), tc.want)
	}
}

func TestCanonical(t *testing.T) {
	table := NewTable()
	for _, tc := range []struct{ name, value, want string }{
		{"retention.ms", " +60000 ", "60000"}, {"retention.ms", "-1", "-1"},
		{"preallocate", " TRUE ", "true"},
		{"min.cleanable.dirty.ratio", "1", "1.0"}, {"min.cleanable.dirty.ratio", " 0.25 ", "0.25"}, {"min.cleanable.dirty.ratio", "NaN", "NaN"},
		{"cleanup.policy", " compact , delete ", "compact,delete"}, {"cleanup.policy", " ", ""},
		{"compression.type", " zstd ", "zstd"},
	} {
		if got := table.byName[tc.name].Canonical(tc.value); got != tc.want {
			t.Errorf("%s=%q is told as %q, want %q", tc.name, tc.value, got, tc.want)
		}
	}
	for _, k := range table.All() {
		if got := k.Canonical(k.Default); got != k.Default {
			t.Errorf("the default of %s is told as %q, not %q", k.Name, got, k.Default)
		}
	}
}

func TestApply(t *testing.T) {
	table := NewTable()
	own := map[string]string{"cleanup.policy": "compact", "retention.ms": "5", "leader.replication.throttled.replicas": "0:1,1:1,0:1"}
	for _, tc := range []struct {
		change Change
		want   string // the setting afterwards, or "-"
		err    string
	}{
		{change: Change{"retention.ms", Set, "7"}, want: "7"},
		{change: Change{"segment.ms", Set, "7"}, want: "7"},
		{change: Change{"no.such.key", Set, "7"}, want: "7"}, // for Validate to refuse
		{change: Change{"retention.ms", Delete, "7"}, want: "-"},
		{change: Change{"segment.ms", Delete, ""}, want: "-"},
		{change: Change{"cleanup.policy", Append, "delete"}, want: "compact,delete"},
		{change: Change{"cleanup.policy", Append, "compact"}, want: "compact"},
		{change: Change{"cleanup.policy", Append, "delete,delete"}, want: "compact,delete"},
		{change: Change{"cleanup.policy", Append, ""}, want: "compact,"},
		{change: Change{"cleanup.policy", Append, ","}, want: "compact"},
		{change: Change{"cleanup.policy", Append, "delete,,"}, want: "compact,delete"},
		{change: Change{"cleanup.policy", Append, ",delete"}, want: "compact,,delete"},
		{change: Change{"cleanup.policy", Subtract, "compact,"}, want: ""},
		{change: Change{"cleanup.policy", Subtract, "delete"}, want: "compact"},
		{change: Change{"cleanup.policy", Subtract, "delete,compact"}, want: ""},
		{change: Change{"leader.replication.throttled.replicas", Subtract, "0:1"}, want: "1:1,0:1"},
		{change: Change{"follower.replication.throttled.replicas", Append, "0:1"}, want: "0:1"},
		{change: Change{"retention.ms", Append, "7"}, err: "Can't APPEND to key retention.ms because its type is not LIST."},
		{change: Change{"no.such.key", Subtract, "7"}, err: "Can't SUBTRACT to key no.such.key because its type is not LIST."},
	} {
		got, err := table.Apply(own, []Change{tc.change})
		check(t, fmt.Sprint(tc.change), err, tc.err)
		value, set := got[tc.change.Name]
		if !set {
			value = "-"
		}
		if tc.err == "" && value != tc.want {
			t.Errorf("%v: %q, want %q", tc.change, value, tc.want)
		}
	}
	if own["retention.ms"] != "5" || len(own) != 3 {
		t.Errorf("what was given is changed: %v", own)
	}
	// What a topic does not have of its own is the default.
	got, err := table.Apply(nil, []Change{{"cleanup.policy", Append, "compact"}})
	if err != nil || got["cleanup.policy"] != "delete,compact" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := table.Apply(nil, []Change{{"cleanup.policy", 9, "compact"}}); !errors.Is(err, ErrUnknownOp) {
		t.Errorf("operation 9: %v", err)
	}
}

const gib = 1 << 30

func TestRetentionOf(t *testing.T) {
	none := Retention{iggywire.NeverExpire, iggywire.UnlimitedSize}
	for _, tc := range []struct {
		ms, bytes, policy string
		want              Retention
	}{
		{"", "", "", Retention{}},
		{"60000", "5", "", Retention{60_000_000, 5}},
		{"0", "0", "", Retention{1, 1}},
		{"-1", "-1", "", none},
		{"9223372036854775807", "-7", "", none},
		{" 5 ", " 7 ", "compact,delete", Retention{5000, 7}},
		{"60000", "5", "compact", none},
		{"", "", "compact", none},
	} {
		settings := map[string]string{}
		for name, value := range map[string]string{RetentionMs: tc.ms, RetentionBytes: tc.bytes, CleanupPolicy: tc.policy} {
			if value != "" {
				settings[name] = value
			}
		}
		if got := RetentionOf(settings); got != tc.want {
			t.Errorf("%v: %+v, want %+v", settings, got, tc.want)
		}
	}
}

// With what retention a topic can have been made, by what Iggy holds of it. What was left to the server can be anything.
func TestMayBeOf(t *testing.T) {
	const never, unlimited = iggywire.NeverExpire, iggywire.UnlimitedSize
	for _, tc := range []struct {
		r               Retention
		expiry, maxSize uint64
		want            bool
	}{
		{Retention{}, never, unlimited, true},
		{Retention{}, 5, 7, true},
		{Retention{never, unlimited}, never, unlimited, true},
		{Retention{never, unlimited}, 5, unlimited, false},
		{Retention{never, unlimited}, never, 5 * gib, false},
		{Retention{60_000_000, 2 * gib}, 60_000_000, 6 * gib, true},
		{Retention{60_000_000, 2 * gib}, 60_000_001, 6 * gib, false},
		{Retention{60_000_000, 2 * gib}, 60_000_000, 2 * gib, false},
		{Retention{0, 5}, never, 15, true},
		{Retention{0, 5}, never, bridge.MinTopicSize, true},
		{Retention{0, 5}, never, 5, false},
		{Retention{60_000_000, 0}, 60_000_000, unlimited, true},
		{Retention{60_000_000, 0}, never, unlimited, false},
	} {
		topic := &bridge.Topic{Partitions: 3, MessageExpiry: tc.expiry, MaxSize: tc.maxSize}
		if got := tc.r.MayBeOf(topic); got != tc.want {
			t.Errorf("%+v, a topic of %d µs and %d bytes: %v", tc.r, tc.expiry, tc.maxSize, got)
		}
	}
}

// What a topic has of its own, by what Iggy holds and what is kept beside it. Iggy is right.
func TestOwn(t *testing.T) {
	const never, unlimited = iggywire.NeverExpire, iggywire.UnlimitedSize
	for _, tc := range []struct {
		name            string
		expiry, maxSize uint64
		partitions      int32
		kept, want      map[string]string
	}{
		{"nothing set", never, unlimited, 1, nil, nil},
		{"zeros of an update by others", 0, 0, 1, nil, nil},
		{"expiry", 60_000_000, unlimited, 1, nil, map[string]string{RetentionMs: "60000"}},
		{"expiry of no whole ms", 1500, unlimited, 1, nil, map[string]string{RetentionMs: "2"}},
		{"expiry below a ms", 1, unlimited, 1, nil, map[string]string{RetentionMs: "1"}},
		{"expiry above Kafka's", math.MaxUint64 - 1, unlimited, 1, nil, map[string]string{RetentionMs: "18446744073709552"}},
		{"size", never, 6 * gib, 3, nil, map[string]string{RetentionBytes: "2147483648"}},
		{"size of no whole bytes", never, 10, 3, nil, map[string]string{RetentionBytes: "3"}},
		{"size above Kafka's", never, math.MaxUint64 - 1, 1, nil, map[string]string{RetentionBytes: "-1"}},
		{"size without partitions", never, 10, 0, nil, map[string]string{RetentionBytes: "10"}},
		{"set to none", never, unlimited, 1, map[string]string{RetentionMs: "-1", RetentionBytes: "-1"}, map[string]string{RetentionMs: "-1", RetentionBytes: "-1"}},
		{"set below a segment", never, gib, 2, map[string]string{RetentionBytes: "1000"}, map[string]string{RetentionBytes: "1000"}},
		{"set below a segment, and changed by others", never, gib + 2, 2, map[string]string{RetentionBytes: "1000"}, map[string]string{RetentionBytes: "536870913"}},
		{"as it was written", 60_000_000, unlimited, 1, map[string]string{RetentionMs: " 60000 "}, map[string]string{RetentionMs: " 60000 "}},
		{"changed by others", 5_000, unlimited, 1, map[string]string{RetentionMs: "60000"}, map[string]string{RetentionMs: "5"}},
		{"taken away by others", never, unlimited, 1, map[string]string{RetentionMs: "60000"}, map[string]string{RetentionMs: "-1"}},
		{"compact", never, unlimited, 1, map[string]string{RetentionMs: "60000", CleanupPolicy: "compact"}, map[string]string{RetentionMs: "60000", CleanupPolicy: "compact"}},
		{"compact, and changed by others", 5_000, unlimited, 1, map[string]string{RetentionMs: "60000", CleanupPolicy: "compact"}, map[string]string{RetentionMs: "5", CleanupPolicy: "compact"}},
	} {
		topic := &bridge.Topic{Partitions: tc.partitions, MessageExpiry: tc.expiry, MaxSize: tc.maxSize}
		if tc.want == nil {
			tc.want = map[string]string{}
		}
		own := Own(topic, tc.kept)
		if diff := cmp.Diff(tc.want, own); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		// What is to be kept beside Iggy is enough to tell the same again, and no more than needed.
		beside := Beside(topic, own)
		if diff := cmp.Diff(own, Own(topic, beside)); diff != "" {
			t.Errorf("%s, kept %v: %s", tc.name, beside, diff)
		}
		for name := range beside {
			less := map[string]string{}
			for other, value := range beside {
				if other != name {
					less[other] = value
				}
			}
			if cmp.Equal(own, Own(topic, less)) {
				t.Errorf("%s: %s need not be kept", tc.name, name)
			}
		}
	}
}
