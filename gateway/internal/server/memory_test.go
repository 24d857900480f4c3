// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// An answer is charged to the response budget until it is written, by the server or by the handler.
func TestResponseBudget(t *testing.T) {
	cfg := testConfig()
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		resp := req.Body.ResponseKind()
		if req.Header.CorrelationID == 1 {
			return now(NewReply(resp))
		}
		if !cfg.ResponseBudget.TryAcquire(1000) {
			t.Error("no room")
		}
		return now(NewReservedReply(resp, func() { cfg.ResponseBudget.Release(1000) }))
	}
	inBubble(t, cfg, handler, func(f *fixture) {
		c := f.dial()
		for id, want := range map[int32]int64{1: 21, 2: 1000} { // 21 bytes are an empty fetch's answer
			c.send(frame(id, fetch()))
			synctest.Wait()
			if used := cfg.ResponseBudget.Used(); used != want {
				t.Errorf("request %d: %d bytes are charged while its answer waits", id, used)
			}
			c.expect(id)
			synctest.Wait()
			if used := cfg.ResponseBudget.Used(); used != 0 {
				t.Errorf("request %d: %d bytes are charged after its answer", id, used)
			}
		}
	})
}

// Requests and answers wait for memory up to their timeouts.
func TestBudgets(t *testing.T) {
	tests := []struct {
		name  string
		wait  time.Duration
		want  CloseCause
		setUp func(cfg *Config) *budget.Budget // returns the budget that somebody else has used up
	}{
		{"frame", 15 * time.Second, FrameBudget, func(cfg *Config) *budget.Budget { return cfg.FrameBudget }},
		{"decode", 15 * time.Second, DecodeBudget, func(cfg *Config) *budget.Budget { return cfg.DecodeBudget }},
		{"response", 10 * time.Second, ResponseBudget, func(cfg *Config) *budget.Budget { return cfg.ResponseBudget }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := testConfig()
			used := test.setUp(&cfg)
			inBubble(t, cfg, echo, func(f *fixture) {
				fill := func() (taken []int64) {
					for n := used.Largest(); n > 0; n /= 2 {
						for used.TryAcquire(n) {
							taken = append(taken, n)
						}
					}
					return taken
				}
				request := frame(1, largeProduce(100_000))

				taken := fill()
				c := f.dial()
				go c.Write(request)
				synctest.Wait()
				time.Sleep(test.wait - 1)
				f.expectCause(test.want, 0)
				time.Sleep(time.Nanosecond)
				f.expectCause(test.want, 1)
				c.expectClosed()

				c = f.dial()
				go c.Write(request)
				synctest.Wait()
				for _, n := range taken {
					used.Release(n)
				}
				c.expect(1)
			})
		})
	}
}

// A large frame that does not come whole gives its memory back (inBubble checks the budgets).
func TestLargeFrameCut(t *testing.T) {
	inBubble(t, testConfig(), echo, func(f *fixture) {
		c := f.dial()
		c.send(frame(1, largeProduce(100_000))[:50_000])
		synctest.Wait()
		if used := f.cfg.FrameBudget.Used(); used < 100_000 {
			t.Errorf("%d bytes are charged", used)
		}
		c.Close()
		f.expectCause(PeerClosed, 1)
	})
}

// A request that would take more memory than any may is not waited for.
func TestDecodeTooLarge(t *testing.T) {
	cfg := testConfig()
	cfg.DecodeBudget = budget.New(100)
	inBubble(t, cfg, echo, func(f *fixture) {
		c := f.dial()
		c.send(frame(1, metadata()))
		c.expectClosed()
		f.expectCause(RequestOverBudget, 1)
	})
}

// An answer above MaxResponseSize closes the connection in its place.
func TestResponseTooLarge(t *testing.T) {
	cfg := testConfig()
	cfg.MaxResponseSize = 1000
	var released atomic.Int32
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		size := int(req.Header.CorrelationID)
		return now(RawReply(net.Buffers{make([]byte, size)}, size, 0, func() { released.Add(1) }))
	}
	inBubble(t, cfg, handler, func(f *fixture) {
		c := f.dial()
		go c.Write(slices.Concat(frame(991, fetch()), frame(992, fetch())))
		c.expect(991)
		c.expectClosed()
		f.expectCause(ResponseTooLarge, 1)
		if n := released.Load(); n != 2 {
			t.Errorf("released %d times", n)
		}
	})
}

// A handler that waits long gives back what its request holds. Others use it meanwhile, and the answer comes all the same.
func TestGiveBack(t *testing.T) {
	cfg := testConfig()
	handler := func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		resp := req.Body.ResponseKind()
		if req.Header.CorrelationID > 2 {
			return now(NewReply(resp))
		}
		return func(ctx context.Context) (Reply, error) {
			conn.GiveBack(req)
			conn.GiveBack(req) // twice does no harm
			return after(time.Minute, NewReply(resp))(ctx)
		}
	}
	inBubble(t, cfg, handler, func(f *fixture) {
		c, other := f.dial(), f.dial()
		c.send(frame(1, largeProduce(100<<10)), frame(2, fetch()))
		synctest.Wait()
		if frames, decoding := cfg.FrameBudget.Used(), cfg.DecodeBudget.Used(); frames != 0 || decoding != 0 {
			t.Errorf("%d bytes of frames and %d of decoding are held", frames, decoding)
		}
		other.send(frame(3, largeProduce(100<<10)))
		other.expect(3)
		c.expect(1, 2)
		synctest.Wait()
		if frames, decoding := cfg.FrameBudget.Used(), cfg.DecodeBudget.Used(); frames != 0 || decoding != 0 {
			t.Errorf("after the answers: %d bytes of frames and %d of decoding", frames, decoding)
		}
	})
}

// What comes behind a request that waits for long takes no memory until its turn, and is answered then.
func TestBehindParked(t *testing.T) {
	cfg := testConfig()
	handler := func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		resp := req.Body.ResponseKind()
		if req.Header.CorrelationID > 1 {
			return now(NewReply(resp))
		}
		return func(ctx context.Context) (Reply, error) {
			conn.GiveBack(req)
			return after(10*time.Minute, NewReply(resp))(ctx)
		}
	}
	inBubble(t, cfg, handler, func(f *fixture) {
		c := f.dial()
		go c.Write(slices.Concat(frame(1, joinGroup()), frame(2, largeProduce(100<<10)), frame(3, fetch())))
		synctest.Wait()
		time.Sleep(5 * time.Minute)
		for name, b := range map[string]*budget.Budget{"frame": cfg.FrameBudget, "decode": cfg.DecodeBudget, "response": cfg.ResponseBudget} {
			if used := b.Used(); used != 0 {
				t.Errorf("%d bytes of the %s budget are held", used, name)
			}
		}
		c.expect(1, 2, 3)
	})
}
