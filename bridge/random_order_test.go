// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// TestRandomFaultsInFlight lets producers that are not idempotent write with many batches in flight, each sent once, through
// whatever goes wrong: what is stored is in the order in which it was sent, also where one in between failed, and what was
// acknowledged is where it was said to be.
func TestRandomFaultsInFlight(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRandomWorld(t, seed, func(*randomWorld) {})
				w.f.setFault(w.fault)
				ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
				defer stop()
				var clients sync.WaitGroup
				for id := range int64(3) {
					clients.Go(func() { w.hastyClient(ctx, id) })
				}
				w.events(ctx)
				w.f.setFault(nil)
				clients.Wait()
				w.check()
			})
		})
	}
}

// hastyClient has up to ten batches in flight.
func (w *randomWorld) hastyClient(ctx context.Context, id int64) {
	r := rand.New(rand.NewPCG(uint64(id), 7))
	inFlight := make(chan struct{}, 10)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for value := 0; ctx.Err() == nil; value += 4 {
		b, gateway := w.current()
		a := &Append{Session: b.Self(), Count: 1 + r.IntN(4), Deadline: time.Now().Add(time.Duration(500+r.IntN(4000)) * time.Millisecond)}
		ids := mapping.IDs{ProducerID: -1}
		for i := range ids.Random {
			ids.Random[i] = byte(rand.Uint32())
		}
		for i := range a.Count {
			payload := fmt.Appendf(nil, "%d/%d", id, value+i)
			a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(i), Payload: payload})
		}
		inFlight <- struct{}{}
		if b.Append(w.top, 0, a) != nil {
			<-inFlight
			time.Sleep(10 * time.Millisecond)
			continue
		}
		waiting.Go(func() {
			defer func() { <-inFlight }()
			if got, err := a.Wait(context.Background()); err == nil {
				w.acknowledge(a.Messages, got.BaseOffset, gateway)
			}
		})
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
		}
	}
}
