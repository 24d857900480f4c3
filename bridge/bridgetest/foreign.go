// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// Written is what writers sent to one partition, to be compared with what it holds.
type Written struct {
	mu      sync.Mutex
	batches []batch
	unknown map[string]int // batches whose fate was not learnt: label and number of messages
}

type batch struct {
	label string // its messages are "label 0", "label 1" and so on
	n     int
	base  int64 // -1: its writer was not told
}

// Acknowledged notes a batch that its writer was told is written, at base or, if that is negative, anywhere.
func (w *Written) Acknowledged(label string, n int, base int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, batch{label, n, base})
}

// Unknown notes a batch whose writer was told nothing.
func (w *Written) Unknown(label string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unknown == nil {
		w.unknown = map[string]int{}
	}
	w.unknown[label] = n
}

// Check compares with the payloads of the partition, by offset: every batch is there once and in one piece, where its
// writer was told that it is; of those with unknown fate there may be all or nothing; and there is nothing else.
func (w *Written) Check(payloads []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, faults := map[string]int{}, []error(nil)
	for offset, payload := range payloads {
		if other, twice := at[payload]; twice {
			faults = append(faults, fmt.Errorf("%q is at %d and at %d", payload, other, offset))
		}
		at[payload] = offset
	}
	total := 0
	check := func(b batch) {
		first, found := at[fmt.Sprintf("%s %d", b.label, 0)]
		if !found {
			faults = append(faults, fmt.Errorf("%s is lost", b.label))
			return
		}
		total += b.n
		if b.base >= 0 && b.base != int64(first) {
			faults = append(faults, fmt.Errorf("%s is at %d, its writer was told %d", b.label, first, b.base))
		}
		for i := range b.n {
			if offset, found := at[fmt.Sprintf("%s %d", b.label, i)]; !found || offset != first+i {
				faults = append(faults, fmt.Errorf("%s is not in one piece at %d: message %d is at %d, %v", b.label, first, i, offset, found))
			}
		}
	}
	for _, b := range w.batches {
		check(b)
	}
	for label, n := range w.unknown {
		if _, found := at[label+" 0"]; found {
			check(batch{label, n, -1})
		}
	}
	if total != len(payloads) {
		faults = append(faults, fmt.Errorf("%d messages stored, %d sent", len(payloads), total))
	}
	return errors.Join(faults...)
}

// nativeWriters lets programs that know nothing of the bridge write to the same partition as it does.
func (s *suite) nativeWriters(t *testing.T, b *bridge.Bridge) {
	const natives, bridges, batches = 4, 4, 30
	top := topic(t, b, 1)
	other := s.open(t)
	var written Written
	var wg sync.WaitGroup
	for i := range natives {
		wg.Go(func() {
			if err := s.native(t.Context(), top, i, batches, &written); err != nil {
				t.Errorf("native writer %d: %v", i, err)
			}
		})
	}
	for i := range bridges {
		through := []*bridge.Bridge{b, other}[i%2]
		wg.Go(func() {
			for j := range batches {
				label, n := fmt.Sprintf("bridge %d batch %d", i, j), 1+(i+j)%5
				got, err := write(t.Context(), through, top, 0, n, text("%s", label))
				if err != nil {
					t.Errorf("%s: %v", label, err)
					return
				}
				written.Acknowledged(label, n, got.BaseOffset)
			}
		})
	}
	wg.Wait()
	if err := written.Check(payloads(t, b, top, 0)); err != nil {
		t.Error(err)
	}
}

// native writes batches of all sizes, a few of them in flight at a time.
func (s *suite) native(ctx context.Context, top *bridge.Topic, writer, batches int, written *Written) error {
	p, err := dial(ctx, &s.config)
	if err != nil {
		return err
	}
	defer p.close()
	if status, _, err := p.ask(iggywire.LoginUser{Username: s.config.Username, Password: s.config.Password}); err != nil || status != iggywire.StatusOK {
		return fmt.Errorf("login: %v, %w", status, err)
	}
	to := send{stream: iggywire.NamedID(top.Iggy.Stream), topic: iggywire.NamedID(top.Iggy.Topic), to: iggywire.ToPartition(0)}
	for first := 0; first < batches; {
		inFlight := min(1+rand.IntN(4), batches-first)
		var frames []byte
		for i := range inFlight {
			label := fmt.Sprintf("native %d batch %d", writer, first+i)
			to.messages = to.messages[:0]
			for j := range 1 + (writer+first+i)%7 {
				to.messages = append(to.messages, mapping.Message{Payload: fmt.Appendf(nil, "%s %d", label, j)})
			}
			frames = iggywire.AppendFrame(frames, to)
			written.Acknowledged(label, len(to.messages), -1) // or the test fails below
		}
		if err := p.write(frames); err != nil {
			return err
		}
		for range inFlight {
			if status, _, err := p.answer(); err != nil || status != iggywire.StatusOK {
				return fmt.Errorf("send: %v, %w", status, err)
			}
		}
		first += inFlight
	}
	return nil
}
