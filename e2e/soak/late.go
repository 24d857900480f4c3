// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lateCommits are the group's commits that reach the gateway when nobody waits for their answers.
type lateCommits struct {
	scene *scene

	mu      sync.Mutex
	commits []LateCommit
}

// heard takes what a client had sent over a connection that it has lost, and when it was sent on.
func (l *lateCommits) heard(at time.Time, piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, offsets := range commitsIn(piece, groupID, l.scene.topic) {
		l.commits = append(l.commits, LateCommit{At: at.Sub(l.scene.begin), Offsets: offsets})
	}
}

func (l *lateCommits) all() []LateCommit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.commits)
}

// commitsIn returns the offsets of each OffsetCommit of a group for a topic, by partition. The piece begins with a request;
// it is read up to the first that is not whole.
func commitsIn(piece []byte, group, topic string) []map[int]int64 {
	var commits []map[int]int64
	for {
		const size, header = 4, 2 + 2 + 4 + 2 // key, version, correlation id, the length of the client's id
		if len(piece) < size {
			return commits
		}
		n := int(binary.BigEndian.Uint32(piece))
		if n < header || n > len(piece)-size {
			return commits
		}
		frame := piece[size : size+n]
		piece = piece[size+n:]
		if int16(binary.BigEndian.Uint16(frame)) != kmsg.OffsetCommit.Int16() {
			continue
		}
		if offsets := commitIn(frame, group, topic); len(offsets) > 0 {
			commits = append(commits, offsets)
		}
	}
}

// commitIn reads an OffsetCommit, from its header on; nil for another group's, and for bytes that are none.
func commitIn(frame []byte, group, topic string) map[int]int64 {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	body := frame[8:]
	clientID := max(int(int16(binary.BigEndian.Uint16(body))), 0) // -1: none
	body = body[2:]
	if clientID > len(body) {
		return nil
	}
	body = body[clientID:]
	if req.IsFlexible() {
		if len(body) == 0 || body[0] != 0 { // no client writes tags there
			return nil
		}
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil || req.Group != group {
		return nil
	}
	offsets := map[int]int64{}
	for _, t := range req.Topics {
		if t.Topic == topic {
			for _, p := range t.Partitions {
				offsets[int(p.Partition)] = p.Offset
			}
		}
	}
	return offsets
}
