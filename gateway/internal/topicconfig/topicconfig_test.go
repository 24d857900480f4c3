// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestKeysAreOnceAndComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys() {
		if seen[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		seen[k.Name] = true
		if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s is described as %q", k.Name, k.Doc)
		}
	}
	if !slices.IsSortedFunc(NewTable().All(), func(a, b Key) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted by name")
	}
}

// Every default is a value that the setting takes.
func TestDefaultsAreValid(t *testing.T) {
	table := NewTable()
	for _, k := range table.All() {
		if err := table.Validate(map[string]string{k.Name: k.Default}); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	table := NewTable()
	const ok = ""
	for _, tc := range []struct{ name, value, want string }{
		{"retention.ms", "0", ok},
		{"retention.ms", "-1", ok},
		{"retention.ms", " 60000 ", ok},
		{"retention.ms", "9223372036854775807", ok},
		{"retention.ms", "x", "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "1.5", "Invalid value 1.5 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "9223372036854775808", "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"retention.ms", " -2 ", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"retention.ms", " x ", "Invalid value  x  for configuration retention.ms: Not a number of type LONG"},
		{"retention.bytes", "-9223372036854775808", ok},
		{"segment.bytes", "1048576", ok},
		{"segment.bytes", "x", "Invalid value x for configuration segment.bytes: Not a number of type INT"},
		{"segment.bytes", "1048575", "Invalid value 1048575 for configuration segment.bytes: Value must be at least 1048576"},
		{"segment.bytes", "2147483648", "Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT"},
		{"compression.gzip.level", "9", ok},
		{"compression.gzip.level", " -1 ", ok},
		{"compression.gzip.level", "0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"compression.gzip.level", "10", "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"segment.bytes", " +5 ", "Invalid value 5 for configuration segment.bytes: Value must be at least 1048576"},
		{"compression.zstd.level", "23", "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22"},
		{"min.cleanable.dirty.ratio", "0.25", ok},
		{"min.cleanable.dirty.ratio", "1", ok},
		{"min.cleanable.dirty.ratio", "1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio", "x", "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"preallocate", "TRUE", ok},
		{"preallocate", "false", ok},
		{"preallocate", "yes", "Invalid value yes for configuration preallocate: Expected value to be either true or false"},
		{"cleanup.policy", "compact", ok},
		{"cleanup.policy", "compact, delete", ok},
		{"cleanup.policy", "", ok},
		{"cleanup.policy", "compact,shred", "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete"},
		{"compression.type", "zstd", ok},
		{"compression.type", " zstd ", ok},
		{"compression.type", " y ", "Invalid value y for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.type", "none", "Invalid value none for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"message.timestamp.type", "LogAppendTime", ok},
		{"message.timestamp.type", "logappendtime", "Invalid value logappendtime for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{"cleanup.policy", "delete,", "Invalid value  for configuration cleanup.policy: String must be one of: compact, delete"},
		{"leader.replication.throttled.replicas", "0:1,1:2", ok},
		{"leader.replication.throttled.replicas", "0:1,", ok},
		{"leader.replication.throttled.replicas", "*", ok},
		{"follower.replication.throttled.replicas", "0:1,x", "Invalid value [0:1, x] for configuration follower.replication.throttled.replicas: follower.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{"remote.storage.enable", "true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"remote.storage.enable", "false", ok},
		{"max.compaction.lag.ms", "1", ok},
		{"no.such.key", "1", "Unknown topic config name: no.such.key"},
		{"retention.minutes", "1", "Unknown topic config name: retention.minutes"},
		{"", "1", "Unknown topic config name: "},
	} {
		check(t, tc.name+"="+tc.value, table.Validate(map[string]string{tc.name: tc.value}), tc.want)
	}
}

func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
		var typed *Error
		if !errors.As(err, &typed) || typed.Message != got {
			t.Errorf("%s: %T is not an *Error of the same text", what, err)
		}
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestSplitList(t *testing.T) {
	for s, want := range map[string][]string{
		"": nil, "  ": nil, "a": {"a"}, "a,b": {"a", "b"}, " a , b ": {"a", "b"}, "a,,b": {"a", "", "b"},
	} {
		if got := splitList(s); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestTypeNames(t *testing.T) {
	for typ, want := range map[Type]string{Boolean: "BOOLEAN", String: "STRING", Int: "INT", Long: "LONG", Double: "DOUBLE", List: "LIST", Password: "PASSWORD"} {
		if got := typ.String(); got != want {
			t.Errorf("%d: %s, want %s", typ, got, want)
		}
	}
}
