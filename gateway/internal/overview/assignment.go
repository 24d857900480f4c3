// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"encoding/binary"
	"slices"
)

// Assigned is the partitions of one topic that a member has.
type Assigned struct {
	Topic      string
	Partitions []int32 // ascending
}

// Assigned reads the partitions that a member was assigned. It is false where they cannot be read: the group is not of
// consumers, or its leader sent something else. Clients and leaders write what they like: nothing here has been checked
// against the topics.
func (m *Member) Assigned() ([]Assigned, bool) {
	if !m.consumer {
		return nil, false
	}
	return parseAssignment(m.assignment)
}

// parseAssignment reads a ConsumerProtocolAssignment:
//
//	version int16 (0 and up) | topics [](length int16, name, partitions [](int32)) | what later versions added
//
// No bytes are no partitions: that is what a member has before the first assignment.
func parseAssignment(b []byte) (all []Assigned, ok bool) {
	if len(b) == 0 {
		return nil, true
	}
	r := reader{b: b}
	if version := r.int16(); version < 0 {
		return nil, false
	}
	const leastTopic, leastPartition = 2 + 4, 4 // bytes
	for range r.count(leastTopic) {
		a := Assigned{Topic: r.string()}
		n := r.count(leastPartition)
		if r.bad {
			break
		}
		a.Partitions = make([]int32, n)
		for i := range a.Partitions {
			a.Partitions[i] = r.int32()
		}
		slices.Sort(a.Partitions)
		all = append(all, a)
	}
	return all, !r.bad
}

// reader takes bytes apart. Once something is missing, it is bad and reads zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) string() string { return string(r.take(int(r.int16()))) }

// count reads how many elements follow, none of which has fewer bytes than least.
func (r *reader) count(least int) int {
	n := int(r.int32())
	if n < 0 || n > len(r.b)/least {
		r.bad = true
		return 0
	}
	return n
}
