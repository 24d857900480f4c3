// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// Idempotent is a batch of n records of an idempotent producer, from a sequence number on.
func Idempotent(b *bridge.Bridge, producer int64, epoch int16, first int32, n int, payload func(i int) []byte) *bridge.Append {
	a := &bridge.Append{Session: b.Self(), Count: n, Deadline: time.Now().Add(20 * time.Second)}
	last := int32((uint32(first) + uint32(n) - 1) & math.MaxInt32)
	a.Producer = bridge.ProducerBatch{Idempotent: true, ID: producer, Epoch: epoch, FirstSequence: first, LastSequence: last}
	ids := mapping.IDs{ProducerID: producer, Epoch: epoch, BaseSequence: first}
	for i := range n {
		a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(i), OriginTimestamp: 1_700_000_000_000_000, Payload: payload(i)})
	}
	return a
}

// Outcome writes a batch and says in short what came of it.
func Outcome(ctx context.Context, b *bridge.Bridge, top *bridge.Topic, a *bridge.Append) string {
	got, err := appendTo(ctx, b, top, a)
	switch {
	case errors.Is(err, bridge.ErrOutOfOrderSequence):
		return "out of order"
	case errors.Is(err, bridge.ErrInvalidProducerEpoch):
		return "invalid epoch"
	case err != nil:
		return err.Error()
	case got.Duplicate:
		return fmt.Sprintf("duplicate of %d", got.BaseOffset)
	default:
		return fmt.Sprintf("at %d", got.BaseOffset)
	}
}

// producers: batches are deduplicated, by the bridge that wrote them and by one that reads them back.
func (s *suite) producers(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	const nearly = math.MaxInt32 - 2
	for _, step := range []struct {
		fresh bool // a bridge that has not written yet
		epoch int16
		first int32
		n     int
		want  string
	}{
		{false, 1, nearly, 2, "at 0"},
		{false, 1, nearly + 2, 3, "at 2"}, // over the wrap
		{false, 1, nearly, 2, "duplicate of 0"},
		{false, 1, 3, 1, "out of order"},
		{true, 1, nearly + 2, 3, "duplicate of 2"},
		{true, 1, 1, 1, "duplicate of 4"}, // it does not know where batches began
		{true, 1, 3, 1, "out of order"},
		{true, 0, 2, 1, "invalid epoch"},
		{true, 1, 2, 5, "at 5"},
		{false, 1, 7, 1, "at 10"}, // the first bridge looks at what the others wrote
		{false, 1, 2, 5, "duplicate of 5"},
		{true, 2, 0, 1, "at 11"},
		{true, 1, 8, 1, "invalid epoch"},
	} {
		through := b
		if step.fresh {
			through = s.open(t)
		}
		a := Idempotent(through, 7, step.epoch, step.first, step.n, text("from %d", step.first))
		if got := Outcome(t.Context(), through, top, a); got != step.want {
			t.Errorf("%+v: %s", step, got)
		}
	}
	for _, through := range []*bridge.Bridge{b, s.open(t)} {
		got, err := through.Producers(t.Context(), top, 0)
		want := []bridge.ProducerState{{ID: 7, Epoch: 2, LastSequence: 0, LastTimestamp: 1_700_000_000_000}}
		if through == b { // it did not see the last write
			want[0].Epoch, want[0].LastSequence = 1, 7
			want[0].LastTimestamp = got[0].LastTimestamp
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

// producersBesideNatives: idempotent producers, who repeat what they sent now and then, through two bridges, and native ones.
// Everything is there once, where it was said to be.
func (s *suite) producersBesideNatives(t *testing.T, b *bridge.Bridge) {
	const natives, producers, batches = 2, 3, 40
	top := topic(t, b, 1)
	through := []*bridge.Bridge{b, s.open(t)}
	var written Written
	var wg sync.WaitGroup
	for i := range natives {
		wg.Go(func() {
			if err := s.native(t.Context(), top, i, batches, &written); err != nil {
				t.Errorf("native writer %d: %v", i, err)
			}
		})
	}
	for i := range producers {
		wg.Go(func() {
			next := int32(math.MaxInt32 - 50)
			for j := range batches {
				label, n := fmt.Sprintf("producer %d batch %d", i, j), 1+(i+j)%5
				base := int64(-1)
				for tries := 1 + rand.IntN(3); tries > 0; tries-- {
					by := through[i%len(through)]
					got, err := appendTo(t.Context(), by, top, Idempotent(by, int64(i), 0, next, n, text("%s", label)))
					switch {
					case err != nil:
						t.Errorf("%s: %v", label, err)
						return
					case base < 0:
						base = got.BaseOffset
					case !got.Duplicate || got.BaseOffset != base:
						t.Errorf("%s: written at %d, then %+v", label, base, got)
					}
				}
				written.Acknowledged(label, n, base)
				next = int32((uint32(next) + uint32(n)) & math.MaxInt32)
			}
		})
	}
	wg.Wait()
	if err := written.Check(payloads(t, b, top, 0)); err != nil {
		t.Error(err)
	}
}

func appendTo(ctx context.Context, b *bridge.Bridge, top *bridge.Topic, a *bridge.Append) (bridge.Appended, error) {
	if err := b.Append(top, 0, a); err != nil {
		return bridge.Appended{}, err
	}
	return a.Wait(ctx)
}

// stampTime: the time that is told is the one that every message of the batch has.
func (s *suite) stampTime(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	var all []*bridge.Append
	for i := range 8 { // some of them in one send
		a := Idempotent(b, 7, 0, int32(3*i), 3, text("%d", i))
		a.StampTime = true
		if err := b.Append(top, 0, a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	for _, a := range all {
		got, err := a.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := b.Read(t.Context(), b.Self(), top, 0, got.BaseOffset, a.Count)
		if err != nil {
			t.Fatal(err)
		}
		for rest := m.Messages; len(rest) > 0; {
			msg, n, err := mapping.ParseMessage(rest)
			if err != nil {
				t.Fatal(err)
			}
			if ms := int64(msg.Timestamp / 1000); ms != got.Timestamp {
				t.Errorf("offset %d: stamped %d, told %d", msg.Offset, ms, got.Timestamp)
			}
			rest = rest[n:]
		}
		m.Release()
	}
}
