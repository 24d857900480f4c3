// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"
)

// Every group has all its members, on as many connections, and its turn comes at the same place on each of them.
func TestSeats(t *testing.T) {
	for _, test := range []struct{ groups, members, connections int }{{1000, 3, 300}, {1000, 3, 3000}, {7, 2, 4}, {5, 1, 2}, {2, 3, 9}} {
		places := make(map[int][]int)
		for i := range test.connections {
			for place, group := range seats(test.groups, test.members, test.connections, i) {
				places[group] = append(places[group], place)
			}
		}
		if len(places) != test.groups {
			t.Errorf("%+v: %d groups", test, len(places))
		}
		for group, at := range places {
			if len(at) != test.members || slices.Min(at) != slices.Max(at) {
				t.Errorf("%+v: group %d has members at %v", test, group, at)
			}
		}
	}
}

// All connections together send at an even pace, and each member once in an interval.
func TestBeatAt(t *testing.T) {
	const interval, members, connections = 3 * time.Second, 10, 300
	var due []time.Duration
	for i := range connections {
		for turn := range members {
			due = append(due, beatAt(interval, members, connections, i, turn))
		}
		if got := beatAt(interval, members, connections, i, members) - beatAt(interval, members, connections, i, 0); got != interval {
			t.Fatalf("connection %d: a member's turn comes after %v", i, got)
		}
	}
	slices.Sort(due)
	for n, at := range due {
		if want := time.Duration(n) * time.Millisecond; at != want {
			t.Fatalf("heartbeat %d at %v, want %v", n, at, want)
		}
	}
}
