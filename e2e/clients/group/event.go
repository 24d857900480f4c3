// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/json"
	"fmt"
)

// Config is what a member is told.
type Config struct {
	Broker           string `json:"broker"` // host:port
	Group            string `json:"group"`
	Topic            string `json:"topic"`
	Instance         string `json:"instance"` // group.instance.id (KIP-345); empty for a dynamic member
	Assignor         string `json:"assignor"` // one of the names below
	SessionTimeoutMs int    `json:"session_timeout_ms"`
	HeartbeatMs      int    `json:"heartbeat_ms"`
}

// Assignors by the names that members give to the coordinator.
const (
	Range             = "range"
	RoundRobin        = "roundrobin"
	CooperativeSticky = "cooperative-sticky"
)

// Kind says what happened to a member.
type Kind string

// The kinds of events.
const (
	Started   Kind = "started"
	Assigned  Kind = "assigned"
	Revoked   Kind = "revoked"
	Record    Kind = "record"
	Committed Kind = "committed"
	Failed    Kind = "error"
	Closed    Kind = "closed"
)

// Event is one line of a member. The fields besides Kind are those that the package's example gives it.
type Event struct {
	Kind       Kind          `json:"event"`
	Version    string        `json:"version,omitempty"`
	Partitions []int         `json:"partitions,omitempty"`
	Partition  int           `json:"partition"`
	Offset     int64         `json:"offset"`
	Value      string        `json:"value,omitempty"`
	Offsets    map[int]int64 `json:"offsets,omitempty"`
	Error      string        `json:"error,omitempty"`
}

// parse reads the lines of the programs that are written for this package.
func parse(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fmt.Errorf("group: %w in %q", err, line)
	}
	switch e.Kind {
	case Started, Assigned, Revoked, Record, Committed, Failed, Closed:
		return e, nil
	default:
		return Event{}, fmt.Errorf("group: unknown event in %q", line)
	}
}
