// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// A client that does not take its answers is closed at the write timeout, and the memory of all that was ready for
// it comes back.
func TestSlowReader(t *testing.T) {
	var released atomic.Int32
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		return now(RawReply(net.Buffers{make([]byte, 100_000)}, 100_000, 0, func() { released.Add(1) }))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		begun := time.Now()
		for id := range int32(5) {
			c.send(frame(id, fetch()))
		}
		synctest.Wait()
		time.Sleep(10*time.Second - 1)
		f.expectCause(WriteTimeout, 0)
		time.Sleep(time.Nanosecond)
		f.expectCause(WriteTimeout, 1)
		if open := time.Since(begun); open != 10*time.Second {
			t.Errorf("closed after %v", open)
		}
		if n := released.Load(); n != 5 {
			t.Errorf("%d of 5 answers were released", n)
		}
	})
}

// Idle means that no frame has begun and that nothing is being answered: a parked request keeps its connection.
func TestIdle(t *testing.T) {
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		return after(1000*time.Second, NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		silent, parked := f.dial(), f.dial()
		parked.send(frame(1, fetch()))
		time.Sleep(600*time.Second - 1)
		f.expectCause(IdleTimeout, 0)
		time.Sleep(time.Nanosecond)
		f.expectCause(IdleTimeout, 1)
		silent.expectClosed()

		parked.expect(1)
		synctest.Wait()
		time.Sleep(600*time.Second - 1)
		f.expectCause(IdleTimeout, 1)
		time.Sleep(time.Nanosecond)
		f.expectCause(IdleTimeout, 2)
		parked.expectClosed()
	})
}

// A frame that has begun must be whole in time, wherever it stops.
func TestReadTimeout(t *testing.T) {
	whole := frame(1, metadata())
	inBubble(t, testConfig(), echo, func(f *fixture) {
		for cut := 1; cut < len(whole); cut++ {
			c := f.dial()
			c.send(whole[:cut])
			synctest.Wait()
			time.Sleep(15*time.Second - 1)
			f.expectCause(ReadTimeout, uint64(cut-1))
			time.Sleep(time.Nanosecond)
			f.expectCause(ReadTimeout, uint64(cut))
			c.expectClosed()
		}
	})
}
