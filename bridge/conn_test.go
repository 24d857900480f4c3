// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// sendAll puts requests on one connection at once.
func sendAll(t *testing.T, c *conn, frames ...frame) []*call {
	t.Helper()
	calls, err := c.send(t.Context(), frames...)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// A connection that answers, however slowly, is not hung: what those ahead of a call took is not charged to it.
func TestSlowButProgressing(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.setFault(func(iggywire.Code) fault { return slow })
		c, err := b.control.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 25) // a second each, CallTimeout is ten
		for range cap(failed) {
			go func() {
				a, err := c.do(t.Context(), iggywire.CodePing)
				a.release()
				failed <- err
			}()
		}
		for range cap(failed) {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
	})
}

// An idle connection holds on to no answer: one may be of many MiB, and idle connections stay.
func TestNoAnswerIsHeld(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		c, err := b.self.reads.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ping := frame{code: iggywire.CodePing}
		for _, call := range sendAll(t, c.conn, ping, ping, ping) {
			if _, err := c.result(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, call := range c.inflight[:cap(c.inflight)] {
			if call != nil {
				t.Errorf("place %d of %d still has a call that is over", i, cap(c.inflight))
			}
		}
	})
}

// An answer that is too large ends the connection, but only who asked for it is told to ask for less, and no lane has to
// doubt what it knows.
func TestOversizedAnswerAndBystanders(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxAnswerSize = 700 }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 100)); err != nil {
			t.Fatal(err)
		}
		c, err := b.self.reads.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		large := pollRequest(top.Iggy, 0, iggywire.PollOffset, 0, 100).AppendTo(nil)
		calls := sendAll(t, c.conn, frame{code: iggywire.CodePollMessages, parts: [][]byte{large}}, frame{code: iggywire.CodePing})
		if _, err := c.result(t.Context(), calls[0]); !errors.Is(err, ErrAnswerTooLarge) {
			t.Errorf("who asked: %v", err)
		}
		if _, err := c.result(t.Context(), calls[1]); errors.Is(err, ErrAnswerTooLarge) || !errors.Is(err, ErrConnectionLost) {
			t.Errorf("the bystander: %v", err)
		}
		if n := b.epoch.Load(); n != 0 {
			t.Errorf("counted as %d losses", n)
		}
	})
}

// What is asked of a bridge while it closes fails in a class that callers know.
func TestCallsAtClose(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodePollMessages {
				return hang
			}
			return behave
		})
		failed := make(chan error, 1)
		go func() {
			_, err := b.Read(t.Context(), b.Self(), top, 0, 0, 1)
			failed <- err
		}()
		time.Sleep(time.Second)
		b.Close(t.Context())
		if err := <-failed; !IsRetryable(err) {
			t.Errorf("%v", err)
		}
	})
}

// A connection that is given up with a request in flight is reset: the kernel must not go on delivering the request.
func TestGivenUpIsReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled := make(chan net.Conn, 1)
	go func() {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
		}
		dialled <- nc
	}()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	nc := <-dialled
	tcp, _ := nc.(*net.TCPConn)
	c := newConn(nc, tcp, &bufferPool{}, nil, time.Minute, 1<<20, nil)
	if _, err := c.send(t.Context(), frame{code: iggywire.CodePing}); err != nil {
		t.Fatal(err)
	}
	c.fail(ErrConnectionLost)
	<-c.readDone
	if _, err := io.Copy(io.Discard, server); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server saw %v", err)
	}
}
