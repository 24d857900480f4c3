// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// muting answers everything at once and mutes the connection with each Produce request.
func muting(d time.Duration) handlerFunc {
	return func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		if req.Header.Key == produceKey {
			conn.Mute(d)
		}
		if req.Header.Key == produceKey && req.Header.CorrelationID == 0 { // as one without acks
			return now(NoReply())
		}
		return now(NewReply(req.Body.ResponseKind()))
	}
}

// A muted connection is answered what it has asked, and nothing that it asks meanwhile until the time is over (KIP-219). Others are
// served.
func TestMute(t *testing.T) {
	inBubble(t, testConfig(), muting(3*time.Second), func(f *fixture) {
		muted, other := f.dial(), f.dial()
		begun := time.Now()
		muted.send(frame(1, produce(1)))
		muted.expect(1)
		if took := time.Since(begun); took != 0 {
			t.Errorf("answered after %v", took)
		}
		muted.send(frame(2, metadata()))
		other.send(frame(1, metadata()))
		other.expect(1)
		if took := time.Since(begun); took != 0 {
			t.Errorf("another connection was answered after %v", took)
		}
		muted.expect(2)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("the muted one was answered after %v", took)
		}
		muted.send(frame(3, metadata()))
		muted.expect(3)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("once it was not muted any more, after %v", took)
		}
		// Who expects no answers is muted as well, and one who has sent ahead is not served faster for it.
		for range 4 {
			muted.send(frame(0, produce(0)))
		}
		muted.send(frame(5, metadata()))
		muted.expect(5)
		if took := time.Since(begun); took != (3+4*3)*time.Second {
			t.Errorf("without acks: after %v", took)
		}
	})
}

// The longest of several counts, and a request whose answer mutes mutes those that were read ahead.
func TestMuteAgain(t *testing.T) {
	handler := func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		return func(ctx context.Context) (Reply, error) {
			if req.Header.Key == fetchKey {
				time.Sleep(time.Duration(req.Header.CorrelationID) * time.Second)
				conn.Mute(10 * time.Second)
				conn.Mute(time.Second)
			}
			return NewReply(req.Body.ResponseKind()), nil
		}
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		begun := time.Now()
		c.send(frame(1, fetch()), frame(2, fetch()), frame(3, metadata()))
		c.expect(1, 2)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("answered after %v", took)
		}
		c.expect(3)
		if took := time.Since(begun); took != 12*time.Second {
			t.Errorf("the one behind after %v", took)
		}
	})
}

// While it is muted a connection is not idle, and its idle time begins when it is not muted any more.
func TestMutedIsNotIdle(t *testing.T) {
	inBubble(t, testConfig(), muting(2000*time.Second), func(f *fixture) {
		c := f.dial()
		c.send(frame(1, produce(1)))
		c.expect(1)
		time.Sleep(2600*time.Second - 1)
		f.expectCause(IdleTimeout, 0)
		time.Sleep(time.Nanosecond)
		f.expectCause(IdleTimeout, 1)
	})
}

// A peer that goes while it is muted is noticed at once; what it had sent before is served, in its time.
func TestMutedPeerCloses(t *testing.T) {
	served := make(chan int32, 10)
	handler := func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		served <- req.Header.CorrelationID
		conn.Mute(time.Hour)
		return now(NoReply())
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		silent, ahead := f.dial(), f.dial()
		silent.send(frame(1, produce(0)))
		ahead.send(frame(2, produce(0)), frame(3, produce(0)))
		synctest.Wait()
		silent.Close()
		ahead.Close()
		f.expectCause(PeerClosed, 1)
		if n := len(served); n != 2 {
			t.Errorf("%d requests were served", n)
		}
		time.Sleep(time.Hour)
		f.expectCause(PeerClosed, 2)
		if n := len(served); n != 3 {
			t.Errorf("%d requests were served in the end", n)
		}
	})
}

// A shutdown does not wait for muted connections, whether they have sent something or not.
func TestMutedShutdown(t *testing.T) {
	inBubble(t, testConfig(), muting(time.Hour), func(f *fixture) {
		silent, ahead := f.dial(), f.dial()
		silent.send(frame(1, produce(1)))
		silent.expect(1)
		ahead.send(frame(1, produce(1)))
		ahead.expect(1)
		ahead.send(frame(2, metadata()))
		synctest.Wait()
		begun := time.Now()
		done := make(chan error)
		go func() { done <- f.Shutdown(f.Context()) }()
		silent.expectClosed()
		ahead.expectClosed()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("took %v", took)
		}
		f.expectCause(Shutdown, 2)
	})
}
