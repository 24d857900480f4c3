// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Answers come in the order of the requests however long each takes, and nothing but Produce and Fetch begins
// before everything ahead of it has its answer.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var unanswered, most atomic.Int32
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		n := unanswered.Add(1)
		most.Store(max(most.Load(), n))
		if !mayOverlap(req.Header.Key) && n != 1 {
			t.Errorf("request %d (key %d) began with %d ahead of it", req.Header.CorrelationID, req.Header.Key, n-1)
		}
		delay := time.Duration(random.IntN(100)) * time.Millisecond
		reply := NewReply(req.Body.ResponseKind())
		return func(ctx context.Context) (Reply, error) {
			defer unanswered.Add(-1)
			return after(delay, reply)(ctx)
		}
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		var frames []byte
		var ids []int32
		for id := range int32(200) {
			requests := []kmsg.Request{fetch(), produce(1), metadata(), apiVersions(3), fetch(), produce(-1), fetch()}
			frames = append(frames, frame(id, requests[random.IntN(len(requests))])...)
			ids = append(ids, id)
		}
		go c.Write(frames)
		c.expect(ids...)
		if most.Load() < 2 {
			t.Error("nothing overlapped")
		}
	})
}

// acks=0 has no answer at all: the next bytes belong to the next request.
func TestNoReply(t *testing.T) {
	handler := func(ctx context.Context, c *Conn, req *wire.Request) Pending {
		if p, ok := req.Body.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
			return after(time.Second, NoReply())
		}
		return echo(ctx, c, req)
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		go c.Write(slices.Concat(frame(1, produce(0)), frame(2, produce(0)), frame(3, apiVersions(3)), frame(4, produce(0)), frame(5, fetch())))
		c.expect(3, 5)
	})
}

// A handler that refuses a request closes the connection once what was asked before is answered; what was asked
// after it is not.
func TestHandlerRefuses(t *testing.T) {
	handler := func(ctx context.Context, c *Conn, req *wire.Request) Pending {
		if p, ok := req.Body.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
			return func(context.Context) (Reply, error) { return Reply{}, errors.New("acks=0 failed") }
		}
		return after(time.Second, NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		go c.Write(slices.Concat(frame(1, fetch()), frame(2, produce(0)), frame(3, fetch())))
		c.expect(1)
		c.expectClosed()
		f.expectCause(HandlerRefused, 1)
	})
}

// A panic closes its own connection and no other.
func TestHandlerPanics(t *testing.T) {
	handler := func(ctx context.Context, c *Conn, req *wire.Request) Pending {
		switch req.Header.CorrelationID {
		case 13:
			panic("in Start")
		case 14:
			return func(context.Context) (Reply, error) { panic("in the Pending") }
		case 15:
			return nil
		}
		return echo(ctx, c, req)
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		good := f.dial()
		bad := 0
		for _, req := range []kmsg.Request{fetch(), metadata()} {
			for id := int32(13); id <= 15; id++ {
				c := f.dial()
				c.send(frame(id, req))
				c.expectClosed()
				bad++
			}
		}
		good.send(frame(1, metadata()))
		good.expect(1)
		f.expectCause(HandlerPanicked, uint64(bad))
	})
}

// The bytes of a raw reply follow the response header of the request's version; its release runs once.
func TestRawReply(t *testing.T) {
	var released atomic.Int32
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		bufs := net.Buffers{[]byte("one"), nil, []byte("two")}
		return now(RawReply(bufs, 6, 0, func() { released.Add(1) }))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		old := fetch()
		old.Version = 11
		go c.Write(slices.Concat(frame(1, fetch()), frame(2, old)))
		if _, body := c.receive(); string(body) != "\x00onetwo" {
			t.Errorf("v12: %q", body)
		}
		if _, body := c.receive(); string(body) != "onetwo" {
			t.Errorf("v11: %q", body)
		}
		synctest.Wait()
		if n := released.Load(); n != 2 {
			t.Errorf("released %d times", n)
		}
	})
}

// A frame may come in any pieces.
func TestPieces(t *testing.T) {
	inBubble(t, testConfig(), echo, func(f *fixture) {
		c := f.dial()
		whole := append(frame(1, metadata()), frame(2, fetch())...)
		go func() {
			for i := range whole {
				c.Write(whole[i : i+1])
			}
		}()
		c.expect(1, 2)
	})
}

// Whatever the firewall refuses closes its connection, after the answers to what came before.
func TestFirewall(t *testing.T) {
	raw := func(size int, key, version int16, body ...byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(size))
		b = binary.BigEndian.AppendUint16(b, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		return append(b, body...)
	}
	cut := frame(2, metadata())
	cut = cut[:len(cut)-1]
	binary.BigEndian.PutUint32(cut, uint32(len(cut)-4))
	tests := []struct {
		name  string
		frame []byte
		want  CloseCause
	}{
		{"negative length", raw(-1, 0, 0), BadLength},
		{"length 0", raw(0, 0, 0), BadLength},
		{"length 7", raw(7, 0, 0), BadLength},
		{"length of HTTP", []byte("GET / HTTP/1.1\r\n"), FrameTooLarge},
		{"small API above 1 MiB", raw(1<<20+1, 18, 3), FrameTooLarge},
		{"large API above the limit", raw(8<<20+1, 0, 9), FrameTooLarge},
		{"key 84", raw(8, 84, 0), UnknownAPI},
		{"key 501", raw(8, 501, 0), UnknownAPI},
		{"key 10001", raw(8, 10001, 0), UnknownAPI},
		{"key 32767", raw(8, 32767, 0), UnknownAPI},
		{"key -1", raw(8, -1, 0), UnknownAPI},
		{"transactions", raw(8, 24, 3), UnknownAPI},
		{"version too high", raw(8, 3, 99), UnsupportedVersion},
		{"version too low", raw(8, 1, 3), UnsupportedVersion},
		{"Produce 2", raw(8, 0, 2), UnsupportedVersion},
		{"version -1", raw(8, 18, -1), UnsupportedVersion},
		{"cut", cut, Malformed},
		{"no client id", raw(8, 3, 0, 0, 0, 0, 1), Malformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, testConfig(), echo, func(f *fixture) {
				other, c := f.dial(), f.dial()
				go c.Write(append(frame(1, metadata()), test.frame...))
				c.expect(1)
				c.expectClosed()
				f.expectCause(test.want, 1)
				other.send(frame(1, metadata()))
				other.expect(1)
			})
		})
	}
}

// ApiVersions above ours reaches the handler unparsed, and the connection lives on.
func TestApiVersionsAboveMax(t *testing.T) {
	cfg := testConfig()
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		return now(NewReply(cfg.Table.ApiVersions(req.Body.(*kmsg.ApiVersionsRequest))))
	}
	inBubble(t, cfg, handler, func(f *fixture) {
		c := f.dial()
		c.send([]byte{0, 0, 0, 11, 0, 18, 0, 127, 0, 0, 0, 5, 0xff, 0xff, 0xff})
		id, body := c.receive()
		if want := "\x00\x23\x00\x00\x00\x01\x00\x12\x00\x00\x00\x04"; id != 5 || string(body) != want {
			t.Errorf("answer %d: %x", id, body)
		}
		c.send(frame(6, apiVersions(3)))
		if id, body := c.receive(); id != 6 || body[0] != 0 || body[1] != 0 || body[2] < 5 {
			t.Errorf("answer %d: %x", id, body)
		}
	})
}

// One connection above the cap is closed at once; a place that becomes free is used again.
func TestMaxConnections(t *testing.T) {
	cfg := testConfig()
	cfg.MaxConnections = 2
	inBubble(t, cfg, echo, func(f *fixture) {
		first, second := f.dial(), f.dial()
		f.dial().expectClosed()
		f.expectCause(TooManyConnections, 1)
		second.send(frame(1, metadata()))
		second.expect(1)
		first.Close()
		f.expectCause(PeerClosed, 1)
		third := f.dial()
		third.send(frame(1, metadata()))
		third.expect(1)
	})
}

// The server stops reading a connection that has MaxInFlight requests unanswered.
func TestMaxInFlight(t *testing.T) {
	var begun atomic.Int32
	handler := func(_ context.Context, _ *Conn, req *wire.Request) Pending {
		begun.Add(1)
		return after(time.Minute, NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		c := f.dial()
		var frames []byte
		var ids []int32
		for id := range int32(100) {
			frames, ids = append(frames, frame(id, fetch())...), append(ids, id)
		}
		go c.Write(frames)
		synctest.Wait()
		if n := begun.Load(); n != 64 {
			t.Errorf("%d requests have begun", n)
		}
		c.expect(ids...)
	})
}

// A client that goes away ends the waits of those of its requests that may wait long.
func TestPeerGone(t *testing.T) {
	var ended atomic.Int32
	handler := func(ctx context.Context, _ *Conn, req *wire.Request) Pending {
		return func(ctx context.Context) (Reply, error) {
			<-ctx.Done()
			ended.Add(1)
			return Reply{}, ctx.Err()
		}
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		fetching, asking := f.dial(), f.dial()
		fetching.send(frame(1, fetch()), frame(2, fetch()))
		asking.send(frame(1, joinGroup()))
		synctest.Wait()
		fetching.Close()
		asking.Close()
		f.expectCause(PeerClosed, 2)
		if n := ended.Load(); n != 3 {
			t.Errorf("%d of 3 waits have ended", n)
		}
	})
}

// What a handler can ask a connection.
func TestConn(t *testing.T) {
	handler := func(ctx context.Context, c *Conn, req *wire.Request) Pending {
		if c.AdvertisedHost() != "broker.example" || c.AdvertisedPort() != 9092 || c.RemoteAddr() == nil {
			t.Errorf("%s:%d %v", c.AdvertisedHost(), c.AdvertisedPort(), c.RemoteAddr())
		}
		if want := uint64(req.Header.CorrelationID); c.ID() != want {
			t.Errorf("id %d, want %d", c.ID(), want)
		}
		if name, version := c.ClientSoftware(); name != "" || version != "" {
			t.Errorf("software %q %q", name, version)
		}
		c.SetClientSoftware("kcat", "1.7")
		if name, version := c.ClientSoftware(); name != "kcat" || version != "1.7" {
			t.Errorf("software %q %q", name, version)
		}
		return echo(ctx, c, req)
	}
	inBubble(t, testConfig(), handler, func(f *fixture) {
		for id := int32(1); id <= 2; id++ {
			c := f.dial()
			c.send(frame(id, metadata()))
			c.expect(id)
		}
	})
}
