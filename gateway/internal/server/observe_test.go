// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// witness is an Observer that remembers.
type witness struct {
	mu   sync.Mutex
	seen []Exchange
}

func (w *witness) Finished(ex Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, ex)
}

// take returns what was seen since it was called last.
func (w *witness) take() []Exchange {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// observed runs a test against a server whose requests are observed.
func observed(t *testing.T, h handlerFunc, test func(f *fixture, w *witness)) {
	t.Helper()
	w := &witness{}
	cfg := testConfig()
	cfg.Observer = w
	inBubble(t, cfg, h, func(f *fixture) { test(f, w) })
}

// spends is a handler that takes time for everything it does.
func spends(_ context.Context, _ *Conn, req *wire.Request) Pending {
	time.Sleep(time.Second)
	return func(context.Context) (Reply, error) {
		time.Sleep(10 * time.Second)
		return NewReply(req.Body.ResponseKind()).Spent(4*time.Second, 500*time.Millisecond), nil
	}
}

func TestStages(t *testing.T) {
	observed(t, spends, func(f *fixture, w *witness) {
		c := f.dial()
		ask := frame(1, metadata())
		c.send(ask)
		time.Sleep(11 * time.Second)
		time.Sleep(2 * time.Second) // the client is slow
		_, rest := c.receive()
		want := []Exchange{{
			Key: 3, Version: 12, Answered: true, In: len(ask), Out: 8 + len(rest),
			Stages: Stages{
				Decode: time.Second, Parked: 4 * time.Second, Iggy: 5500 * time.Millisecond, Encode: 500 * time.Millisecond, Write: 2 * time.Second,
			},
		}}
		if diff := cmp.Diff(want, w.take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if total := want[0].Stages.Total(); total != 13*time.Second {
			t.Errorf("%v in all", total)
		}
	})
}

// What a handler says of its time is no more than it had.
func TestStagesOfWhoBoasts(t *testing.T) {
	boasts := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		return func(context.Context) (Reply, error) {
			time.Sleep(time.Second)
			return NewReply(req.Body.ResponseKind()).Spent(700*time.Millisecond, time.Hour), nil
		}
	}
	observed(t, boasts, func(f *fixture, w *witness) {
		c := f.dial()
		c.send(frame(1, metadata()))
		c.expect(1)
		want := Stages{Parked: 700 * time.Millisecond, Encode: 300 * time.Millisecond}
		if diff := cmp.Diff(want, w.take()[0].Stages); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The second request waits for the first one, and a muted connection for its time.
func TestQueueStage(t *testing.T) {
	const answerTime, muteTime = time.Second, 5 * time.Second
	slow := func(ctx context.Context, conn *Conn, req *wire.Request) Pending {
		if req.Header.CorrelationID == 2 {
			conn.Mute(muteTime)
		}
		return after(answerTime, NewReply(req.Body.ResponseKind()))
	}
	observed(t, slow, func(f *fixture, w *witness) {
		c := f.dial()
		for id := range int32(3) {
			c.send(frame(1+id, fetch()))
			if id == 0 { // what follows does not overlap with it
				c.send(frame(10, metadata()))
			}
			if id == 0 {
				c.expect(1, 10)
			}
			if id == 2 {
				c.expect(2, 3)
			}
		}
		seen := w.take()
		if len(seen) != 4 || seen[1].Key != 3 || seen[1].Stages.Queue != answerTime {
			t.Errorf("behind another: %+v", seen[1])
		}
		if last := seen[3]; last.Stages.Queue != muteTime {
			t.Errorf("muted: %+v", last)
		}
	})
}

func TestEndings(t *testing.T) {
	failing := kmsg.NewPtrMetadataResponse()
	failing.Version = 12
	failing.Topics = make([]kmsg.MetadataResponseTopic, 2)
	failing.Topics[1].ErrorCode = 3
	raw := func(context.Context) (Reply, error) { return RawReply(net.Buffers{make([]byte, 6)}, 6, 29, nil), nil }
	fails := func(context.Context) (Reply, error) { return Reply{}, errors.New("no") }
	panics := func(context.Context) (Reply, error) { panic("no") }
	for _, test := range []struct {
		name    string
		pending Pending
		want    Exchange
	}{
		{"an answer", now(NewReply(&kmsg.MetadataResponse{Version: 12})), Exchange{Answered: true}},
		{"none is wanted", now(NoReply()), Exchange{Answered: true}},
		{"an error in it", now(NewReply(failing)), Exchange{Answered: true, Code: 3}},
		{"an error in bytes", raw, Exchange{Answered: true, Code: 29}},
		{"closed behind it", now(NewReply(failing).ThenClose(AuthenticationFailed, nil)), Exchange{Answered: true, Code: 3}},
		{"closed in place of it", fails, Exchange{}},
		{"a panic", panics, Exchange{}},
		{"a nil answer", now(NewReply((*kmsg.MetadataResponse)(nil))), Exchange{}},
		{"too large", now(RawReply(nil, 100<<20, 0, nil)), Exchange{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := func(context.Context, *Conn, *wire.Request) Pending { return test.pending }
			observed(t, start, func(f *fixture, w *witness) {
				c := f.dial()
				go readAnswer(c)
				c.send(frame(1, metadata()))
				seen := w.take()
				if len(seen) != 1 {
					t.Fatalf("told %d times: %+v", len(seen), seen)
				}
				if got := (Exchange{Answered: seen[0].Answered, Code: seen[0].Code}); got != test.want {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			})
		})
	}
}

// Each request is told of once, whatever becomes of its connection.
func TestEachRequestIsToldOfOnce(t *testing.T) {
	for _, test := range []struct {
		name         string
		client       func(f *fixture, c *client)
		told, closed int
	}{
		{"the client goes", func(_ *fixture, c *client) { c.Close() }, 3, 3},
		{"the client goes in between", func(_ *fixture, c *client) { time.Sleep(time.Second); c.expect(1); c.Close() }, 3, 2},
		{"it does not read", func(*fixture, *client) { time.Sleep(time.Minute) }, 3, 3},
		{"shutdown", func(f *fixture, c *client) {
			ctx, cancel := context.WithTimeout(f.Context(), time.Millisecond)
			defer cancel()
			f.Shutdown(ctx)
		}, 3, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			slow := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
				return after(time.Duration(req.Header.CorrelationID)*time.Second, NewReply(req.Body.ResponseKind()))
			}
			observed(t, slow, func(f *fixture, w *witness) {
				c := f.dial()
				c.send(frame(1, fetch()), frame(2, fetch()), frame(3, fetch()))
				synctest.Wait()
				test.client(f, c)
				time.Sleep(time.Minute)
				told, closed := 0, 0
				for _, ex := range w.take() {
					if told++; !ex.Answered {
						closed++
					}
				}
				if told != test.told || closed != test.closed {
					t.Errorf("told of %d, %d without an answer; want %d, %d", told, closed, test.told, test.closed)
				}
			})
		})
	}
}
