// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// TestRandomFaults lets idempotent producers, and others, write through whatever goes wrong with Iggy and with the gateway, and
// compares what is stored with what they were told: every acknowledged record is there once, where it was said to be, and in
// its producer's order, but for those that the store lost.
func TestRandomFaults(t *testing.T) {
	randomFaults(t, 30, func(*randomWorld) {})
}

func randomFaults(t *testing.T, seeds uint64, prepare func(*randomWorld)) {
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newRandomWorld(t, seed, prepare).run() })
		})
	}
}

type randomWorld struct {
	t    *testing.T
	f    *fakeIggy
	top  *Topic
	rand *rand.Rand // the events'

	mu       sync.Mutex
	bridge   *Bridge
	acked    map[string]int64 // payload to offset
	ackedBy  map[string]int   // payload to the gateway that was the last to say so
	lost     map[string]bool  // the store had it once
	restarts int
	forgiven int // epochs begun anew because store and gateway forgot together
	faults   *rand.Rand
	users    *randomUsers // as whom the clients write; nil: all as the gateway's own
}

func newRandomWorld(t *testing.T, seed uint64, prepare func(*randomWorld)) *randomWorld {
	w := &randomWorld{
		t: t, f: newFakeIggy(t), acked: map[string]int64{}, ackedBy: map[string]int{}, lost: map[string]bool{},
		rand: rand.New(rand.NewPCG(seed, 1)), faults: rand.New(rand.NewPCG(seed, 2)),
	}
	prepare(w)
	w.bridge = w.f.open(t, w.configure)
	w.top = topic(t, w.bridge, "orders", 1)
	return w
}

func (w *randomWorld) configure(c *Config) {
	c.TailMin, c.CallTimeout = 200, 3*time.Second
	if w.users != nil {
		c.MaxWriteConnections = 2
	}
}

func (w *randomWorld) run() {
	w.f.setFault(w.fault)
	ctx, stop := context.WithTimeout(w.t.Context(), 40*time.Second)
	defer stop()
	var clients sync.WaitGroup
	for i := range 3 {
		clients.Go(func() { w.idempotentClient(ctx, int64(i)) })
		clients.Go(func() { w.otherClient(ctx, int64(100+i)) })
	}
	clients.Go(func() { w.questions(ctx) })
	w.events(ctx)
	w.f.setFault(nil)
	clients.Wait()
	w.check()
}

// fault is asked with the fake's mu held.
func (w *randomWorld) fault(code iggywire.Code) fault {
	concerned := code == iggywire.CodeSendMessages || code == iggywire.CodePollMessages || code == iggywire.CodeGetTopic
	if !concerned || w.faults.IntN(25) > 0 {
		return behave
	}
	return []fault{hang, dropBefore, dropAfter, cut, garbage, slow, slow, dropLate}[w.faults.IntN(8)]
}

// events happen until ctx ends.
func (w *randomWorld) events(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-time.After(time.Duration(w.rand.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		switch w.rand.IntN(6) {
		case 0: // a killed server comes back without its last messages
			w.f.with(func() {
				p := w.f.partition("orders", 0)
				keep := max(len(p.messages)-w.rand.IntN(30), 0)
				stamp := func(i int) uint64 { return iggywire.MessageTimestamp(p.messages[i]) }
				for keep > 0 && keep < len(p.messages) && stamp(keep-1) == stamp(keep) {
					keep-- // Iggy keeps a send whole or not at all
				}
				for _, m := range p.messages[keep:] {
					msg, _, _ := mapping.ParseMessage(m)
					w.mu.Lock()
					w.lost[string(msg.Payload)] = true
					w.mu.Unlock()
				}
				p.messages = p.messages[:keep:keep]
				for c := range w.f.conns {
					_ = c.Close()
				}
				if w.rand.IntN(2) == 0 {
					p.append(w.f.now(), foreignMessages(w.rand.IntN(40)))
				}
			})
		case 1:
			w.restart()
		case 2:
			w.f.hangUp()
		default:
			w.f.with(func() {
				w.f.partition("orders", 0).append(w.f.now(), foreignMessages(w.rand.IntN(20)))
			})
		}
	}
}

// foreignMessages have ids of their own, as Iggy gives them.
func foreignMessages(n int) []byte {
	var out []byte
	for range n {
		var m mapping.Message
		for i := range m.ID {
			m.ID[i] = byte(rand.Uint32())
		}
		m.ID[15] = 0
		out = mapping.AppendMessage(out, &m)
	}
	return out
}

// restart ends the gateway and starts another one, once what it had sent is executed.
func (w *randomWorld) restart() {
	w.mu.Lock()
	old := w.bridge
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	old.Close(ctx)
	time.Sleep(2 * settleTime)
	fresh := w.f.open(w.t, w.configure)
	w.mu.Lock()
	w.bridge = fresh
	w.restarts++
	w.mu.Unlock()
}

// current is the gateway, and its number.
func (w *randomWorld) current() (*Bridge, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bridge, w.restarts
}

func (w *randomWorld) acknowledge(messages []byte, base int64, gateway int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := messages; len(rest) > 0; base++ {
		msg, n, _ := mapping.ParseMessage(rest)
		w.acked[string(msg.Payload)], w.ackedBy[string(msg.Payload)] = base, gateway
		rest = rest[n:]
	}
}

// clientBatch is a batch of a client until it is acknowledged. Its number of records and its payloads stay, its sequence
// numbers do when the epoch does.
type clientBatch struct {
	first int32
	n     int
	value int // of the first payload
}

// idempotentClient does what Kafka's do: up to five batches in flight, and when one fails it and those behind it are sent again,
// in order.
func (w *randomWorld) idempotentClient(ctx context.Context, id int64) {
	r := rand.New(rand.NewPCG(uint64(id), 7))
	var queue []clientBatch
	next, epoch, value := int32(math.MaxInt32-60), int16(0), 0
	for ctx.Err() == nil || len(queue) > 0 {
		for len(queue) < 5 && ctx.Err() == nil && r.IntN(4) > 0 {
			n := 1 + r.IntN(4)
			queue = append(queue, clientBatch{next, n, value})
			next, value = int32((uint32(next)+uint32(n))&math.MaxInt32), value+n
		}
		b, gateway := w.current()
		session := w.session(b, id)
		var inFlight []*Append
		for _, c := range queue {
			if session == nil {
				break
			}
			a := as(session, idempotent(b, id, epoch, c.first, c.n))
			a.Messages = a.Messages[:0]
			ids := mapping.IDs{ProducerID: id, Epoch: epoch, BaseSequence: c.first}
			for i := range c.n {
				payload := fmt.Appendf(nil, "%d/%d", id, c.value+i)
				a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(i), Payload: payload})
			}
			a.Deadline = time.Now().Add(time.Duration(500+r.IntN(4000)) * time.Millisecond)
			if b.Append(w.top, 0, a) != nil {
				break
			}
			inFlight = append(inFlight, a)
		}
		acked := 0
		outOfOrder := false
		for i, a := range inFlight {
			got, err := a.Wait(context.Background())
			if err == nil && i == acked {
				acked++
				w.acknowledge(a.Messages, got.BaseOffset, gateway)
			}
			outOfOrder = outOfOrder || i == acked && errors.Is(err, ErrOutOfOrderSequence)
			if err != nil && !IsRetryable(err) && !IsUnknownOutcome(err) && !errors.Is(err, ErrOutOfOrderSequence) {
				w.t.Errorf("producer %d: %v", id, err)
			}
		}
		queue = queue[acked:]
		if outOfOrder && len(queue) > 0 {
			w.mu.Lock()
			before := fmt.Sprintf("%d/%d", id, queue[0].value-1)
			forgot := w.lost[before] && gateway > w.ackedBy[before]
			w.mu.Unlock()
			if !forgot {
				w.t.Errorf("producer %d: the first in flight is out of order, sequence number %d", id, queue[0].first)
			}
			// As a client whose broker lost data: a new epoch.
			w.mu.Lock()
			w.forgiven++
			w.mu.Unlock()
			epoch, next = epoch+1, 0
			for i := range queue {
				queue[i].first = next
				next += int32(queue[i].n)
			}
		}
		time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
	}
}

// otherClient sends each batch once.
func (w *randomWorld) otherClient(ctx context.Context, id int64) {
	r := rand.New(rand.NewPCG(uint64(id), 7))
	for value := 0; ctx.Err() == nil; value += 4 {
		b, gateway := w.current()
		a := &Append{Session: w.session(b, id), Count: 1 + r.IntN(4)}
		a.Deadline = time.Now().Add(time.Duration(500+r.IntN(4000)) * time.Millisecond)
		ids := mapping.IDs{ProducerID: -1}
		for i := range ids.Random {
			ids.Random[i] = byte(rand.Uint32())
		}
		for i := range a.Count {
			payload := fmt.Appendf(nil, "%d/%d", id, value+i)
			a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(i), Payload: payload})
		}
		if a.Session != nil && b.Append(w.top, 0, a) == nil {
			if got, err := a.Wait(context.Background()); err == nil {
				w.acknowledge(a.Messages, got.BaseOffset, gateway)
			}
		}
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
	}
}

// questions make the lane read the partition at other times than its writers do.
func (w *randomWorld) questions(ctx context.Context) {
	r := rand.New(rand.NewPCG(0, 7))
	for ctx.Err() == nil {
		b, _ := w.current()
		asking, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(300))*time.Millisecond)
		_, _ = b.Producers(asking, w.top, 0) // who is told of what is not the point
		cancel()
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
	}
}

func (w *randomWorld) check() {
	at, newest := map[string]int64{}, map[int64]int{}
	for offset, payload := range w.f.stored("orders") {
		if payload == "" {
			continue // foreign
		}
		if other, twice := at[payload]; twice {
			w.t.Errorf("%s is at %d and at %d", payload, other, offset)
		}
		at[payload] = int64(offset)
		var id int64
		var value int
		if _, err := fmt.Sscanf(payload, "%d/%d", &id, &value); err != nil {
			w.t.Fatal(err)
		}
		if last, any := newest[id]; any && value <= last {
			w.t.Errorf("%s at %d comes after %d/%d", payload, offset, id, last)
		}
		newest[id] = value
	}
	for payload, offset := range w.acked {
		if got, found := at[payload]; !w.lost[payload] && (!found || got != offset) {
			w.t.Errorf("%s was acknowledged at %d, is at %d, %v", payload, offset, got, found)
		}
	}
	w.t.Logf("%d stored, %d acknowledged, %d lost by the store, %d restarts, %d epochs forgotten",
		len(at), len(w.acked), len(w.lost), w.restarts, w.forgiven)
}
