// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package statelogtest has a storage in memory that fails as real ones do.
package statelogtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// ErrInjected is what calls that were made to fail return.
var ErrInjected = errors.New("statelogtest: injected failure")

// Fault is what becomes of an append.
type Fault uint8

// What may become of an append.
const (
	// None: it is written and confirmed.
	None Fault = iota
	// Refused: it fails, and is not written.
	Refused
	// Unanswered: it is written, and fails all the same.
	Unanswered
	// Late: it fails, and is written when Storage.Arrive is called.
	Late
	// Cut: only the first half is written, and it fails.
	Cut
)

// Storage is a statelog.Storage in memory. It is safe for concurrent use, also by several logs.
type Storage struct {
	// Delay is how long each call takes.
	Delay time.Duration

	mu         sync.Mutex
	partitions []partition
	faults     func(partition int, messages []statelog.Message) Fault
	down       bool
	appends    int
}

type partition struct {
	first    int64
	messages []statelog.Message // from first on
	late     [][]statelog.Message
}

func (p *partition) next() int64 { return p.first + int64(len(p.messages)) }

func (p *partition) append(messages []statelog.Message) int64 {
	base := p.next()
	p.messages = append(p.messages, clone(messages, base)...)
	return base
}

// clone returns the messages with offsets from base on, payloads and all: those of an append are the caller's again.
func clone(messages []statelog.Message, base int64) []statelog.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.Offset, m.Payload = base+int64(i), slices.Clone(m.Payload)
	}
	return messages
}

// New returns a storage with so many empty partitions.
func New(partitions int) *Storage { return &Storage{partitions: make([]partition, partitions)} }

// Partitions implements statelog.Storage.
func (s *Storage) Partitions() int { return len(s.partitions) }

// begin waits for as long as a call takes, and locks the storage.
func (s *Storage) begin(ctx context.Context) error {
	if s.Delay > 0 {
		select {
		case <-time.After(s.Delay):
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	if s.down {
		s.mu.Unlock()
		return fmt.Errorf("%w: the storage is down", ErrInjected)
	}
	return nil
}

// Bounds implements statelog.Storage.
func (s *Storage) Bounds(ctx context.Context, partition int) (first, next int64, err error) {
	if err := s.begin(ctx); err != nil {
		return 0, 0, err
	}
	defer s.mu.Unlock()
	p := &s.partitions[partition]
	return p.first, p.next(), nil
}

// Append implements statelog.Storage.
func (s *Storage) Append(ctx context.Context, partition int, messages []statelog.Message) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	s.appends++
	p := &s.partitions[partition]
	fault := None
	if s.faults != nil {
		fault = s.faults(partition, messages)
	}
	switch fault {
	case None:
		return p.append(messages), nil
	case Unanswered:
		p.append(messages)
	case Late:
		p.late = append(p.late, clone(messages, 0))
	case Cut:
		p.append(messages[:len(messages)/2])
	}
	return 0, fmt.Errorf("%w: append", ErrInjected)
}

// Read implements statelog.Storage.
func (s *Storage) Read(ctx context.Context, partition int, from int64, limit int) ([]statelog.Message, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	p := &s.partitions[partition]
	from = min(from-min(from, p.first), int64(len(p.messages)))
	return slices.Clone(p.messages[from:min(from+int64(limit), int64(len(p.messages)))]), nil
}

// Fail asks a function what becomes of each append from now on; nil: nothing unusual.
func (s *Storage) Fail(faults func(partition int, messages []statelog.Message) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
}

// FailNext makes the next appends, to whatever partition, end in a fault.
func (s *Storage) FailNext(n int, fault Fault) {
	s.Fail(func(int, []statelog.Message) Fault {
		if n--; n >= 0 {
			return fault
		}
		return None
	})
}

// Down makes every call fail, or no longer.
func (s *Storage) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Arrive writes what Late appends held back.
func (s *Storage) Arrive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.partitions {
		p := &s.partitions[i]
		for _, messages := range p.late {
			p.append(messages)
		}
		p.late = nil
	}
}

// Lose forgets the last n messages of a partition, as a server does that is killed before it has written them to disk. What
// was late is lost, too.
func (s *Storage) Lose(partition, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.partitions[partition]
	p.messages = p.messages[:max(len(p.messages)-n, 0)]
	p.late = nil
}

// Expire forgets the messages of a partition before the offset, as retention does.
func (s *Storage) Expire(partition int, before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.partitions[partition]
	n := min(max(before-p.first, 0), int64(len(p.messages)))
	p.first += n
	p.messages = slices.Clone(p.messages[n:])
}

// Messages returns what a partition holds.
func (s *Storage) Messages(partition int) []statelog.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.partitions[partition].messages)
}

// Appends is how many appends there were.
func (s *Storage) Appends() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appends
}
