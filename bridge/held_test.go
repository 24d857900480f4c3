// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// holder is a network before a fakeIggy. It keeps the next send, or its answer, for a while; other connections go on.
type holder struct {
	f *fakeIggy

	mu              sync.Mutex
	request, answer time.Duration // of the next send
}

func (h *holder) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := h.f.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	client, near := net.Pipe()
	answer := make(chan time.Duration, 1)
	h.f.forward(server, near, func(piece []byte) {
		request, later := h.take(piece)
		if later > 0 {
			answer <- later
		}
		time.Sleep(request)
	})
	h.f.forward(near, server, func([]byte) {
		select {
		case d := <-answer:
			time.Sleep(d)
		default:
		}
	})
	return client, nil
}

// take says how long a piece that begins a send, and its answer, have to wait.
func (h *holder) take(piece []byte) (request, answer time.Duration) {
	if len(piece) < iggywire.HeaderSize {
		return 0, 0
	}
	if code, _, err := iggywire.ParseRequestHeader(piece[:iggywire.HeaderSize]); err != nil || code != iggywire.CodeSendMessages {
		return 0, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	request, answer = h.request, h.answer
	h.request, h.answer = 0, 0
	return request, answer
}

// forward copies, piece by piece, until one side ends. Who sends does not wait.
func (f *fakeIggy) forward(to, from net.Conn, wait func(piece []byte)) {
	pieces := make(chan []byte, 100)
	f.served.Go(func() {
		defer close(pieces)
		defer from.Close()
		for {
			buf := make([]byte, 4<<10)
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			pieces <- buf[:n]
		}
	})
	f.served.Go(func() {
		defer to.Close()
		for piece := range pieces {
			wait(piece)
			if _, err := to.Write(piece); err != nil {
				break
			}
		}
		_ = from.Close()
		for range pieces {
		}
	})
}

// withHeldSend writes a batch that is held back, as request says, and given up by its client, and hands over to run.
func withHeldSend(t *testing.T, request, answer time.Duration, what fault, run func(t *testing.T, f *fakeIggy, b *Bridge, top *Topic)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &holder{f: newFakeIggy(t)}
		b := h.f.open(t, func(c *Config) { c.Dial = h.dial })
		top := topic(t, b, "orders", 1)
		expect(t, b, top, batch(b, 1, 1), "at 0")
		h.mu.Lock()
		h.request, h.answer = request, answer
		h.mu.Unlock()
		h.f.once(iggywire.CodeSendMessages, what)
		a := idempotent(b, 7, 0, 0, 2)
		a.Deadline = time.Now().Add(200 * time.Millisecond)
		expect(t, b, top, a, "unknown")
		run(t, h.f, b, top)
	})
}

// A send that waits for its answer may be executed at any time, however long Iggy has been saying that its messages are not
// there: what comes behind waits, and its own retry is a duplicate.
func TestSendIsHeldBack(t *testing.T) {
	withHeldSend(t, 8*settleTime, 0, behave, func(t *testing.T, f *fakeIggy, b *Bridge, top *Topic) {
		begun := time.Now()
		expectAll(t, b, top, []*Append{batch(b, 2, 1), idempotent(b, 7, 0, 0, 2), idempotent(b, 7, 0, 2, 1)},
			"at 3", "duplicate of 1, newest 2", "at 4")
		if took := time.Since(begun); took < 7*settleTime {
			t.Errorf("answered after %v, when the send was still on its way", took)
		}
		if n := len(f.stored("orders")); n != 5 {
			t.Errorf("%d messages", n)
		}
	})
}

// Iggy refuses a send when nobody waits for its answer any more: the partition is free at once for what comes behind.
func TestRefusedTooLate(t *testing.T) {
	withHeldSend(t, 0, 2*settleTime, refuse, func(t *testing.T, f *fakeIggy, b *Bridge, top *Topic) {
		begun := time.Now()
		expectAll(t, b, top, []*Append{idempotent(b, 7, 0, 0, 2), batch(b, 2, 1), idempotent(b, 7, 0, 2, 1)}, "at 1", "at 3", "at 4")
		if took := time.Since(begun); took > 2*settleTime+2*settlePause {
			t.Errorf("answered after %v", took)
		}
		if n := len(f.stored("orders")); n != 5 {
			t.Errorf("%d messages", n)
		}
	})
}

// A server stops when it has nearly been saying for long enough that a send is not there, and executes it a moment after it has
// gone on. What it said before does not count.
func TestStoppedJustBeforeItIsSettled(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		expect(t, b, top, batch(b, 1, 1), "at 0")
		f.once(iggywire.CodeSendMessages, dropBefore) // its bytes lie in the server's socket
		lost := batch(b, 2, 1)
		lost.Deadline = time.Now().Add(settleTime - settlePause/2)
		expect(t, b, top, lost, "unknown")
		time.Sleep(5 * time.Second) // the server is stopped; nobody notices
		time.AfterFunc(settleTime/2, func() { f.with(func() { f.partition("orders", 0).append(f.now(), lost.Messages) }) })
		expect(t, b, top, batch(b, 3, 1), "at 2")
	})
}
