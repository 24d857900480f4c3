// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package topicconfig knows Kafka's topic settings: their names, types, defaults and which values Kafka 4.1 accepts
// (org.apache.kafka.storage.internals.log.LogConfig), how clients change them, which of them Iggy holds, and what they come
// to. It holds no state.
package topicconfig

import (
	"cmp"
	"errors"
	"slices"
)

// Type is the type of a setting's value, numbered as DescribeConfigs answers it.
type Type int8

// The types that settings have.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Password Type = 9
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
	case Password:
		return "PASSWORD"
	default:
		return "LIST"
	}
}

// The settings that Iggy holds itself.
const (
	RetentionMs    = "retention.ms"
	RetentionBytes = "retention.bytes"
)

// Settings that are checked against each other, or refused.
const (
	minCompactionLag = "min.compaction.lag.ms"
	maxCompactionLag = "max.compaction.lag.ms"
	remoteStorage    = "remote.storage.enable"
)

// DefaultMaxMessageBytes is the largest batch, in bytes, that a topic takes by default.
const DefaultMaxMessageBytes = 1048588

// Table finds settings by name.
type Table struct {
	checked []Key // in a broker's order
	sorted  []Key
	byName  map[string]*Key
}

// NewTable returns the table of all settings.
func NewTable() *Table {
	t := &Table{checked: Keys(), byName: map[string]*Key{}}
	t.sorted = slices.SortedFunc(slices.Values(t.checked), func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	for i := range t.sorted {
		t.byName[t.sorted[i].Name] = &t.sorted[i]
	}
	return t
}

// All lists the settings by name; the slice must not be changed.
func (t *Table) All() []Key { return t.sorted }

// Error is why a setting is refused, in the words of a Kafka broker: INVALID_CONFIG's message.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// ErrUnknownOp: a client wants to change a setting in a way that there is not.
var ErrUnknownOp = errors.New("topicconfig: unknown operation")

// Setting is one setting of a gateway, as DescribeConfigs tells those of a broker.
type Setting struct {
	Name, Value string
	Type        Type
	Default     bool // the value is the one that nobody has to set
	Secret      bool // the value is not told
	Doc         string
}
