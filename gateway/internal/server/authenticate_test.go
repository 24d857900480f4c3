// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// doorman is a Handler for connections that authenticate: the password is "good", and a check takes a second.
type doorman struct {
	mu     sync.Mutex
	served []int16 // keys, in the order in which they began
	gone   atomic.Int32
	people []*person
}

type person struct {
	name     string
	released atomic.Int32
}

func (p *person) Name() string { return p.name }
func (p *person) Release()     { p.released.Add(1) }

var errWrong = errors.New("wrong password")

func (d *doorman) Start(_ context.Context, conn *Conn, req *wire.Request) Pending {
	d.mu.Lock()
	d.served = append(d.served, req.Header.Key)
	d.mu.Unlock()
	s := conn.SASL()
	resp := req.Body.ResponseKind()
	switch body := req.Body.(type) {
	case *kmsg.SASLHandshakeRequest:
		s.Take(map[int16]sasl.Input{0: sasl.RawHandshake, 1: sasl.Handshake}[body.Version], time.Now())
	case *kmsg.SASLAuthenticateRequest:
		s.Take(sasl.Token, time.Now())
		return func(ctx context.Context) (Reply, error) {
			good := string(body.SASLAuthBytes) == "good"
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				d.gone.Add(1)
				return Reply{}, ctx.Err()
			}
			if !good {
				resp.(*kmsg.SASLAuthenticateResponse).ErrorCode = 58
				return NewReply(resp).ThenClose(AuthenticationFailed, errWrong), nil
			}
			s.Accept("alice", time.Now())
			p := &person{name: "alice"}
			d.people = append(d.people, p)
			conn.SetPrincipal(p)
			return NewReply(resp), nil
		}
	}
	return now(NewReply(resp))
}

// guarded runs a test against a server whose clients authenticate, within 15 s.
func guarded(t *testing.T, test func(f *fixture, d *doorman)) {
	t.Helper()
	d := &doorman{}
	cfg := testConfig()
	cfg.Authentication = &Authentication{Rules: sasl.NewRules(0), Timeout: 15 * time.Second}
	inBubble(t, cfg, d.Start, func(f *fixture) { test(f, d) })
}

func handshake(version int16) *kmsg.SASLHandshakeRequest {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = version, "PLAIN"
	return req
}

func authenticate(token string) *kmsg.SASLAuthenticateRequest {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 2, []byte(token)
	return req
}

func rawToken(token string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...)
}

// login authenticates a client by a good token.
func (c *client) login() {
	c.Helper()
	c.send(frame(1, handshake(1)))
	c.expect(1)
	c.send(frame(2, authenticate("good")))
	c.expect(2)
}

// Before a login nothing above 64 KiB is read, whatever it is, and nothing is allocated for it.
func TestEarlyFrames(t *testing.T) {
	guarded(t, func(f *fixture, _ *doorman) {
		for i, key := range []int16{0, 3, 18, 36} {
			c := f.dial()
			c.send([]byte{0, 1, 0, 1, byte(key >> 8), byte(key), 0, 3}[:4+4*min(1, i+1)])
			c.expectClosed()
			f.expectCause(FrameTooLarge, uint64(i+1))
		}
		c := f.dial()
		large := frame(1, largeProduce(64<<10))
		large = append(binary.BigEndian.AppendUint32(nil, 64<<10), large[4:4+64<<10]...)
		go c.Write(large) // not a whole request: but it is read
		c.expectClosed()
		f.expectCause(Malformed, 1)

		c = f.dial()
		c.login()
		c.send(frame(3, largeProduce(1<<20)))
		c.expect(3)
	})
}

// An unauthenticated connection has 15 s for each frame; what comes of its token has its own time.
func TestPreAuthTimeout(t *testing.T) {
	guarded(t, func(f *fixture, _ *doorman) {
		silent, talking, done := f.dial(), f.dial(), f.dial()
		done.login() // a second
		time.Sleep(14*time.Second - 1)
		talking.send(frame(1, apiVersions(3)))
		talking.expect(1)
		f.expectCause(AuthenticationTimeout, 0)
		time.Sleep(time.Nanosecond)
		f.expectCause(AuthenticationTimeout, 1)
		silent.expectClosed()

		time.Sleep(15*time.Second - 2)
		f.expectCause(AuthenticationTimeout, 1)
		time.Sleep(time.Nanosecond)
		f.expectCause(AuthenticationTimeout, 2)
		talking.expectClosed()

		time.Sleep(500 * time.Second)
		done.send(frame(3, metadata()))
		done.expect(3)
		time.Sleep(600 * time.Second)
		f.expectCause(IdleTimeout, 1)
	})
}

// PB-18: after SaslHandshake v0 the token has no request header, and the answer is four zero bytes.
func TestRawToken(t *testing.T) {
	guarded(t, func(f *fixture, d *doorman) {
		c := f.dial()
		c.send(frame(1, handshake(0)))
		c.expect(1)
		c.send(rawToken("good"))
		var answer [4]byte
		if _, err := io.ReadFull(c, answer[:]); err != nil || answer != [4]byte{} {
			t.Fatalf("%x, %v", answer, err)
		}
		c.send(frame(2, metadata()))
		c.expect(2)
	})
}

// With handshake, token and request in one write, the answers come in order.
func TestRawTokenPipelined(t *testing.T) {
	guarded(t, func(f *fixture, d *doorman) {
		c := f.dial()
		c.send(bytes.Join([][]byte{frame(1, handshake(0)), rawToken("good"), frame(2, metadata()), frame(3, metadata())}, nil))
		c.expect(1)
		var answer [4]byte
		if _, err := io.ReadFull(c, answer[:]); err != nil || answer != [4]byte{} {
			t.Fatalf("%x, %v", answer, err)
		}
		c.expect(2, 3)
	})
}

func TestRawTokenRefused(t *testing.T) {
	for name, test := range map[string]struct {
		token []byte
		cause CloseCause
	}{
		"wrong":           {rawToken("bad"), AuthenticationFailed},
		"empty":           {rawToken(""), AuthenticationFailed},
		"too long":        {[]byte{0, 1, 0, 1}, FrameTooLarge},
		"negative":        {[]byte{0xff, 0xff, 0xff, 0xff}, BadLength},
		"lowest":          {[]byte{0x80, 0, 0, 0}, BadLength},
		"a whole request": {frame(2, metadata()), AuthenticationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			guarded(t, func(f *fixture, _ *doorman) {
				c := f.dial()
				c.send(frame(1, handshake(0)))
				c.expect(1)
				c.send(test.token)
				c.expectClosed()
				f.expectCause(test.cause, 1)
			})
		})
	}
}

// What is behind a token waits until it is decided, the first byte of a frame that is too large for who has not authenticated
// included; behind a good one it is served.
func TestPipelinedBehindToken(t *testing.T) {
	guarded(t, func(f *fixture, d *doorman) {
		c := f.dial()
		go c.Write(bytes.Join([][]byte{
			frame(1, apiVersions(3)), frame(2, handshake(1)), frame(3, authenticate("good")),
			frame(4, largeProduce(100_000)), frame(5, fetch()), frame(6, metadata()),
		}, nil))
		c.expect(1, 2)
		time.Sleep(time.Second - 1)
		synctest.Wait()
		d.mu.Lock()
		if len(d.served) != 3 {
			t.Errorf("begun: %v", d.served)
		}
		d.mu.Unlock()
		c.expect(3, 4, 5, 6)
	})
}

// Nothing behind a bad one is.
func TestPipelinedBehindBadToken(t *testing.T) {
	for _, behind := range []kmsg.Request{metadata(), fetch(), produce(1), apiVersions(3), handshake(1), authenticate("good")} {
		guarded(t, func(f *fixture, d *doorman) {
			c := f.dial()
			go c.Write(bytes.Join([][]byte{frame(1, handshake(1)), frame(2, authenticate("bad")), frame(3, behind)}, nil))
			c.expect(1, 2)
			c.expectClosed()
			f.expectCause(AuthenticationFailed, 1)
		})
	}
}

// A client that goes away while its token is checked is noticed at once.
func TestGoneWhileChecked(t *testing.T) {
	guarded(t, func(f *fixture, d *doorman) {
		c := f.dial()
		c.send(frame(1, handshake(1)))
		c.expect(1)
		c.send(frame(2, authenticate("good")))
		synctest.Wait()
		c.Close()
		f.expectCause(PeerClosed, 1)
		if d.gone.Load() != 1 {
			t.Error("its handler was not told")
		}
	})
}

// A shutdown waits for a token that is being checked.
func TestShutdownWhileChecked(t *testing.T) {
	guarded(t, func(f *fixture, d *doorman) {
		c := f.dial()
		c.send(frame(1, handshake(1)))
		c.expect(1)
		c.send(frame(2, authenticate("good")))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
		defer cancel()
		go f.Shutdown(ctx)
		c.expect(2)
		c.expectClosed()
		f.expectCause(Shutdown, 1)
	})
}

// The connection releases who has authenticated, once, at its end or when another takes the place.
func TestPrincipalIsReleased(t *testing.T) {
	guarded(t, func(f *fixture, d *doorman) {
		c := f.dial()
		c.login()
		f.mu.Lock()
		for conn := range f.conns {
			if conn.Principal() != Principal(d.people[0]) {
				t.Errorf("principal %v", conn.Principal())
			}
			d.people = append(d.people, &person{name: "alice"})
			conn.SetPrincipal(d.people[1])
			conn.SetPrincipal(d.people[1])
		}
		f.mu.Unlock()
		if d.people[0].released.Load() != 1 || d.people[1].released.Load() != 0 {
			t.Errorf("released %d and %d times", d.people[0].released.Load(), d.people[1].released.Load())
		}
		c.Close()
		synctest.Wait()
		if d.people[0].released.Load() != 1 || d.people[1].released.Load() != 1 {
			t.Errorf("at the end %d and %d times", d.people[0].released.Load(), d.people[1].released.Load())
		}
	})
}

// Of a token nothing is left in the buffers through which it came, in whatever pieces, with or without a header, decided or not.
func TestTokensAreForgotten(t *testing.T) {
	const secret = "hunter2hunter2hunter2"
	before := frame(1, handshake(1))
	with := append(bytes.Clone(before), frame(2, authenticate(secret))...)
	without := append(frame(1, handshake(0)), rawToken(secret)...)
	malformed := append(bytes.Clone(before), frame(2, authenticate(secret))...)
	malformed[len(before)+4+8] = 0x7f // the length of the client id
	for name, stream := range map[string][]byte{"with a header": with, "without": without, "malformed": malformed} {
		for cut := len(before); cut < len(stream); cut++ {
			guarded(t, func(f *fixture, _ *doorman) {
				c := f.dial()
				go c.Write(stream[:cut])
				c.expect(1)
				synctest.Wait()
				conn := f.only()
				go c.Write(append(bytes.Clone(stream[cut:]), 0, 0)) // and the beginning of another frame
				io.Copy(io.Discard, c)
				synctest.Wait()
				if bytes.Contains(bufferOf(conn), []byte(secret[:4])) {
					t.Errorf("%s, cut at %d: the token is in the reader", name, cut)
				}
				for range 4 {
					b := f.pool.Get(len(stream))
					if bytes.Contains(b.B[:cap(b.B)], []byte(secret[:4])) {
						t.Errorf("%s, cut at %d: the token is in the pool", name, cut)
					}
				}
			})
		}
	}
}

// only is the one connection that there is.
func (f *fixture) only() *Conn {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.conns {
		return conn
	}
	f.Fatal("no connection")
	return nil
}

// bufferOf is all memory of a connection's reader, used or not.
func bufferOf(c *Conn) []byte { return reflect.ValueOf(c.reader).Elem().FieldByName("buf").Bytes() }
