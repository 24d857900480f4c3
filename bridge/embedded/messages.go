// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// maxSendMetadata bounds the metadata of a send: two identifiers, a partitioning
// of 257 bytes each at most, and the count.
const maxSendMetadata = 3*(2+iggywire.MaxNameLength) + 4

// send reads a send piece by piece and hands it to its partition. A send that is
// refused before all of it was read leaves the rest in the stream, as the real
// server does: every later request of the connection is then answered with
// [iggywire.StatusInvalidCommand], and a body shorter than it says makes the
// next requests part of it.
func (s *session) send(length int) bool {
	if s.loggedIn() == nil {
		s.queue.settle()
		return s.refuse(iggywire.StatusUnauthenticated)
	}
	if length > s.server.cfg.MaxSendSize {
		s.refuse(iggywire.StatusTooBigMessagePayload)
		return false
	}
	req, status, err := s.readSend(length)
	if err != nil {
		return false
	}
	if status == iggywire.StatusOK {
		status = req.Validate()
	}
	if status != iggywire.StatusOK {
		return s.refuse(status)
	}
	p, status := s.sendTarget(req)
	if status != iggywire.StatusOK {
		return s.refuse(status)
	}
	a := &answer{weight: iggywire.HeaderSize + len(req.Messages)}
	a.head = a.memory[:iggywire.HeaderSize]
	if !s.push(a) {
		return false
	}
	p.append(req.Messages, req.Count, s.server.now(), s.server.newID, func(status iggywire.Status) {
		s.queue.finish(a, status)
	})
	return true
}

// readSend reads the body of a send. The messages get memory of their own, which
// the log keeps; the indexes are in the session's.
func (s *session) readSend(length int) (iggywire.SendRequest, iggywire.Status, error) {
	none := iggywire.SendRequest{}
	var size [4]byte
	if _, err := io.ReadFull(s.in, size[:]); err != nil {
		return none, 0, err
	}
	announced := binary.LittleEndian.Uint32(size[:])
	if uint64(announced) > uint64(length) || announced > maxSendMetadata {
		return none, iggywire.StatusInvalidCommand, nil
	}
	var err error
	if s.body, err = readGrowing(s.in, s.body[:0], int(announced)); err != nil {
		return none, 0, err
	}
	req, status := iggywire.ParseSendMetadata(s.body)
	if status != iggywire.StatusOK {
		return none, status, nil
	}
	if uint64(req.Count)*iggywire.IndexSize > uint64(length) {
		return none, iggywire.StatusInvalidCommand, nil
	}
	indexes := int(req.Count) * iggywire.IndexSize
	if s.body, err = readGrowing(s.in, s.body[:0], indexes); err != nil {
		return none, 0, err
	}
	req.Indexes = s.body
	left := length - len(size) - int(announced) - indexes
	if left < 0 {
		return none, iggywire.StatusInvalidCommand, nil
	}
	req.Messages, err = readGrowing(s.in, nil, left)
	return req, iggywire.StatusOK, err
}

// sendTarget finds the partition that a send goes to.
func (s *session) sendTarget(req iggywire.SendRequest) (*partition, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, status := c.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		return nil, status
	}
	if !s.me().at(t).send() {
		return nil, iggywire.StatusUnauthorized
	}
	count := uint32(len(t.partitions))
	switch {
	case req.Partitioning.Kind == iggywire.PartitioningPartition:
		return t.partition(req.Partitioning.Partition)
	case count == 0:
		return nil, iggywire.StatusTopicNotFound
	case req.Partitioning.Kind == iggywire.PartitioningKey:
		return t.partition(xxh32([]byte(req.Partitioning.Key)) % count)
	default:
		return t.partition((t.turn.Add(1) - 1) % count)
	}
}

// poll answers a [iggywire.Poll].
func (s *session) poll(body []byte) bool {
	req, err := iggywire.ParsePoll(body)
	if err != nil {
		return s.refuse(iggywire.RequestStatus(err))
	}
	if s.loggedIn() == nil {
		return s.refuse(iggywire.StatusUnauthenticated)
	}
	p, key, status := s.target(req.Stream, req.Topic, req.Consumer, req.HasPartition, req.Partition, true)
	if status == iggywire.StatusNotResolvedConsumer {
		// Somebody else's partition, or none left for this member.
		return s.answerPoll(iggywire.PollResult{}, excerpt{})
	}
	if status != iggywire.StatusOK {
		return s.refuse(status)
	}
	messages, first, current, err := p.read(req.Strategy, req.Value, req.Count, key)
	if errors.Is(err, errDropped) {
		return s.poll(body)
	}
	if err != nil {
		return s.refuse(iggywire.StatusError)
	}
	if req.AutoCommit && messages.count > 0 {
		if status := s.storeOffset(p, key, first+uint64(messages.count)-1); status != iggywire.StatusOK {
			return s.refuse(status)
		}
	}
	return s.answerPoll(iggywire.PollResult{Partition: p.partition, CurrentOffset: current, Count: messages.count}, messages)
}

func (s *session) answerPoll(result iggywire.PollResult, messages excerpt) bool {
	size := iggywire.PollResultHeaderSize
	for _, part := range messages.parts {
		size += len(part)
	}
	a := &answer{messages: messages, weight: iggywire.HeaderSize + size, ready: true}
	a.head = result.AppendHeader(iggywire.AppendResponseHeader(a.memory[:0], iggywire.StatusOK, size))
	return s.push(a)
}
