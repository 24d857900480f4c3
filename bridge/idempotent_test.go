// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// idempotent is a batch of n records of an idempotent producer that waits at most 20 s. Record timestamps are the sequence
// numbers plus one.
func idempotent(b *Bridge, producer int64, epoch int16, first int32, n int) *Append {
	a := &Append{Session: b.Self(), Count: n, Deadline: time.Now().Add(20 * time.Second)}
	a.Messages = idMessages(producer, epoch, first, n)
	last := int32((uint32(first) + uint32(n) - 1) & math.MaxInt32)
	a.Producer = ProducerBatch{Idempotent: true, ID: producer, Epoch: epoch, FirstSequence: first, LastSequence: last}
	a.MaxTimestamp, a.MaxTimestampIndex = int64(last)+1, n-1
	if last < first {
		a.MaxTimestamp, a.MaxTimestampIndex = math.MaxInt32+1, int(math.MaxInt32-first)
	}
	return a
}

func idMessages(producer int64, epoch int16, first int32, n int) []byte {
	var out []byte
	ids := mapping.IDs{ProducerID: producer, Epoch: epoch, BaseSequence: first}
	for i := range n {
		id := ids.ID(i)
		sequence := uint64(mapping.ParseID(id).Sequence)
		out = mapping.AppendMessage(out, &mapping.Message{
			ID: id, OriginTimestamp: (sequence + 1) * 1000, Payload: fmt.Appendf(nil, "%d/%d", producer, sequence),
		})
	}
	return out
}

// outcome is an append's result in short.
func outcome(got Appended, err error) string {
	switch {
	case errors.Is(err, ErrOutOfOrderSequence):
		return "out of order"
	case errors.Is(err, ErrInvalidProducerEpoch):
		return "invalid epoch"
	case IsUnknownOutcome(err):
		return "unknown"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case err != nil:
		return err.Error()
	case got.Duplicate:
		return fmt.Sprintf("duplicate of %d, newest %d", got.BaseOffset, got.Timestamp)
	default:
		return fmt.Sprintf("at %d", got.BaseOffset)
	}
}

// expect writes a batch and compares the outcome.
func expect(t *testing.T, b *Bridge, top *Topic, a *Append, want string) {
	t.Helper()
	if got := outcome(write(t, b, top, 0, a)); got != want {
		t.Errorf("producer %d epoch %d from %d: %s, want %s", a.Producer.ID, a.Producer.Epoch, a.Producer.FirstSequence, got, want)
	}
}

// expectAll queues batches together and compares their outcomes.
func expectAll(t *testing.T, b *Bridge, top *Topic, batches []*Append, want ...string) {
	t.Helper()
	for _, a := range batches {
		if err := b.Append(top, 0, a); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, a := range batches {
		got = append(got, outcome(a.Wait(t.Context())))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// stored lists the payloads of partition 0.
func (f *fakeIggy) stored(topic string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, m := range f.partition(topic, 0).messages {
		msg, _, _ := mapping.ParseMessage(m)
		out = append(out, string(msg.Payload))
	}
	return out
}

func (f *fakeIggy) hangUp() {
	f.mu.Lock()
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	synctest.Wait()
	time.Sleep(redialMax)
}

func (f *fakeIggy) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}
