// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Shutdown answers what is in flight and reads nothing more.
func TestShutdownDrains(t *testing.T) {
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		return after(5*time.Second, NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		idle, busy, inline, partial := f.dial(), f.dial(), f.dial(), f.dial()
		busy.send(frame(1, fetch()), frame(2, produce(1)))
		inline.send(frame(3, metadata()))
		partial.send(frame(4, metadata())[:9])
		synctest.Wait()

		begun := time.Now()
		done := make(chan error)
		go func() { done <- f.Shutdown(f.Context()) }()
		idle.expectClosed()
		partial.expectClosed()
		busy.expect(1, 2)
		busy.expectClosed()
		inline.expect(3)
		inline.expectClosed()
		if err := <-done; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		f.expectCause(Shutdown, 4)
	})
}

// At the end of the drain connections are cut: the handlers' contexts end and nothing more is answered.
func TestShutdownCuts(t *testing.T) {
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		return after(time.Hour, NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		parked, inline := f.dial(), f.dial()
		parked.send(frame(1, fetch()))
		inline.send(frame(2, metadata()))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(f.Context(), 25*time.Second)
		defer cancel()
		begun := time.Now()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begun); took != 25*time.Second {
			t.Errorf("took %v", took)
		}
		parked.expectClosed()
		inline.expectClosed()
		f.expectCause(ShutdownCut, 2)
	})
}

// Under load every request that was begun is answered, in order, before its connection closes.
func TestShutdownUnderLoad(t *testing.T) {
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		// Never 0: two timers whose time is over when they are asked make the race detector's own runtime fail in a bubble (Go 1.26).
		return after(time.Duration(1+req.Header.CorrelationID%7)*time.Millisecond, NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		const clients = 8
		ended := make(chan int32)
		for range clients {
			c := f.dial()
			go func() {
				for id := int32(0); ; id++ {
					if _, err := c.Write(frame(id, fetch())); err != nil {
						return
					}
				}
			}()
			go func() {
				for id := int32(0); ; id++ {
					got, _, err := readAnswer(c)
					if err != nil {
						if err != io.EOF {
							t.Error(err)
						}
						ended <- id
						return
					}
					if got != id {
						t.Errorf("answer %d came, not %d", got, id)
					}
				}
			}()
		}
		time.Sleep(50 * time.Millisecond)
		if err := f.Shutdown(f.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		for range clients {
			if n := <-ended; n < 100 {
				t.Errorf("only %d answers", n)
			}
		}
		f.expectCause(Shutdown, clients)
	})
}

// Serve after Shutdown refuses, and closes its listener.
func TestServeAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(testConfig(), handlerFunc(echo))
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		l := newMemListener()
		if err := s.Serve(Listener{Listener: l}); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
		<-l.closed
	})
}
