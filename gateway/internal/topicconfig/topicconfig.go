// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package topicconfig knows Kafka's topic settings: their names, types, defaults and which values Kafka 4.1 accepts
// (org.apache.kafka.storage.internals.log.LogConfig). It holds no state.
package topicconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a setting's value, numbered as DescribeConfigs answers it.
type Type int8

// The types that topic settings have.
const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3
	Long    Type = 5
	Double  Type = 6
	List    Type = 7
)

func (t Type) String() string {
	switch t {
	case Boolean:
		return "BOOLEAN"
	case String:
		return "STRING"
	case Int:
		return "INT"
	case Long:
		return "LONG"
	case Double:
		return "DOUBLE"
	default:
		return "LIST"
	}
}

// Key is one topic setting.
type Key struct {
	Name    string
	Type    Type
	Default string

	min, max float64  // of numbers, inclusive
	words    []string // allowed values, or members of a list; nil = any
}

// The settings that Iggy holds itself.
const (
	RetentionMs    = "retention.ms"
	RetentionBytes = "retention.bytes"
)

// DefaultMaxMessageBytes is the largest batch, in bytes, that a topic takes by default.
const DefaultMaxMessageBytes = 1048588

// Keys lists every topic setting of Kafka 4.1 by name.
func Keys() []Key {
	const anyMax = math.MaxFloat64
	number := func(name string, t Type, def string, least float64) Key {
		return Key{Name: name, Type: t, Default: def, min: least, max: anyMax}
	}
	ranged := func(name string, t Type, def string, least, most float64) Key {
		return Key{Name: name, Type: t, Default: def, min: least, max: most}
	}
	word := func(name string, t Type, def string, words ...string) Key {
		return Key{Name: name, Type: t, Default: def, words: words}
	}
	const forever = "9223372036854775807"
	return []Key{
		word(CleanupPolicy, List, deletes, compact, deletes),
		ranged("compression.gzip.level", Int, "-1", -1, 9),
		ranged("compression.lz4.level", Int, "9", 1, 17),
		word(CompressionType, String, producer, uncompressed, "zstd", "lz4", "snappy", "gzip", producer),
		ranged("compression.zstd.level", Int, "3", -131072, 22),
		number("delete.retention.ms", Long, "86400000", 0),
		number("file.delete.delay.ms", Long, "60000", 0),
		number("flush.messages", Long, forever, 1),
		number("flush.ms", Long, forever, 0),
		word("follower.replication.throttled.replicas", List, ""),
		number("index.interval.bytes", Int, "4096", 0),
		word("leader.replication.throttled.replicas", List, ""),
		number("local.retention.bytes", Long, "-2", -2),
		number("local.retention.ms", Long, "-2", -2),
		number("max.compaction.lag.ms", Long, forever, 1),
		number(MaxMessageBytes, Int, strconv.Itoa(DefaultMaxMessageBytes), 0),
		number(TimestampAfterMax, Long, strconv.Itoa(defaultTimestampAfterMax), 0),
		number(TimestampBeforeMax, Long, forever, 0),
		word(TimestampType, String, "CreateTime", "CreateTime", logAppendTime),
		ranged("min.cleanable.dirty.ratio", Double, "0.5", 0, 1),
		number("min.compaction.lag.ms", Long, "0", 0),
		number("min.insync.replicas", Int, "1", 1),
		word("preallocate", Boolean, "false"),
		word("remote.log.copy.disable", Boolean, "false"),
		word("remote.log.delete.on.disable", Boolean, "false"),
		word("remote.storage.enable", Boolean, "false"),
		number(RetentionBytes, Long, "-1", math.Inf(-1)),
		number(RetentionMs, Long, "604800000", -1),
		number("segment.bytes", Int, "1073741824", 1<<20),
		number("segment.index.bytes", Int, "10485760", 4),
		number("segment.jitter.ms", Long, "0", 0),
		number("segment.ms", Long, "604800000", 1),
		word("unclean.leader.election.enable", Boolean, "false"),
	}
}

// Table finds settings by name.
type Table struct {
	keys   []Key
	byName map[string]int
}

// NewTable returns the table of all settings.
func NewTable() *Table {
	t := &Table{keys: Keys(), byName: map[string]int{}}
	for i, k := range t.keys {
		t.byName[k.Name] = i
	}
	return t
}

// All lists the settings by name; the slice must not be changed.
func (t *Table) All() []Key { return t.keys }

// Error is why a setting is refused, in the words of a Kafka broker: INVALID_CONFIG's message.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Validate checks one setting; value nil is null. The error is an *Error.
func (t *Table) Validate(name string, value *string) error {
	i, ok := t.byName[name]
	switch {
	case !ok:
		return &Error{"Unknown topic config name: " + name}
	case value == nil:
		return &Error{"Null value not supported for topic configs: " + name}
	}
	return t.keys[i].validate(*value)
}

func (k *Key) validate(value string) error {
	trimmed := strings.TrimSpace(value)
	invalid := func(what, why string) error {
		return &Error{fmt.Sprintf("Invalid value %s for configuration %s: %s", what, k.Name, why)}
	}
	switch k.Type {
	case Boolean:
		if !strings.EqualFold(trimmed, "true") && !strings.EqualFold(trimmed, "false") {
			return invalid(value, "Expected value to be either true or false")
		}
	case Int, Long, Double:
		n, err := k.parseNumber(trimmed)
		switch {
		case err != nil:
			return invalid(value, "Not a number of type "+k.Type.String())
		case n < k.min:
			return invalid(trimmed, "Value must be at least "+formatBound(k.min, k.Type))
		case n > k.max:
			return invalid(trimmed, "Value must be no more than "+formatBound(k.max, k.Type))
		}
	case List:
		for _, member := range splitList(trimmed) {
			if k.words != nil && !slices.Contains(k.words, member) {
				return invalid(member, "String must be one of: "+strings.Join(k.words, ", "))
			}
		}
	case String:
		if k.words != nil && !slices.Contains(k.words, value) {
			return invalid(value, "String must be one of: "+strings.Join(k.words, ", "))
		}
	}
	return nil
}

func (k *Key) parseNumber(s string) (float64, error) {
	switch k.Type {
	case Int:
		n, err := strconv.ParseInt(s, 10, 32)
		return float64(n), err
	case Long:
		n, err := strconv.ParseInt(s, 10, 64)
		return float64(n), err
	default:
		return strconv.ParseFloat(s, 64)
	}
}

func formatBound(n float64, t Type) string {
	if t == Double {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatInt(int64(n), 10)
}

// splitList reads a list value: members between commas, blanks around them dropped, "" the empty list.
func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	members := strings.Split(s, ",")
	for i := range members {
		members[i] = strings.TrimSpace(members[i])
	}
	return members
}
