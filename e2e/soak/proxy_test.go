// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// echo starts a server that answers with what it gets, and a proxy in front of it.
func echo(t *testing.T) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	p, err := StartProxy(l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// peer is a connection through a proxy.
type peer struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, p *Proxy) peer {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return peer{t, c}
}

func (c peer) send(text string) {
	c.t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// expect reads a text, and nothing but that until the connection ends as wanted or, for a nil error, goes on.
func (c peer) expect(text string, end error) {
	c.t.Helper()
	patience := 10 * time.Second
	_ = c.SetReadDeadline(time.Now().Add(patience))
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != text {
		c.t.Fatalf("read %q, %v, want %q", got[:n], err, text)
	}
	if end == nil {
		return
	}
	if errors.Is(end, os.ErrDeadlineExceeded) {
		patience = 50 * time.Millisecond
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, end) {
		c.t.Fatalf("then read %d bytes, %v, want %v", n, err, end)
	}
}

const (
	reset  = syscall.ECONNRESET
	silent = "" // for readers of the tests: nothing comes
)

func TestProxyPasses(t *testing.T) {
	c := dial(t, echo(t))
	text := strings.Repeat("0123456789", 20_000)
	go func() { _, _ = c.Write([]byte(text)) }() // what is missing is missed below
	c.expect(text, nil)
}

func TestProxyCuts(t *testing.T) {
	p := echo(t)
	requests, answers, later := dial(t, p), dial(t, p), dial(t, p)
	for _, c := range []peer{requests, answers, later} { // all are there
		c.send("a")
		c.expect("a", nil)
	}
	p.CutAfter(2, Requests)
	requests.send("bc")
	requests.expect("bc", nil)
	requests.send("d")
	requests.expect(silent, reset)
	p.CutAfter(1, Answers)
	p.CutAfter(100, Requests)
	answers.send("bc")
	answers.expect("b", reset)
	p.Heal()
	later.send("b")
	later.expect("b", nil)
	p.CutAll()
	later.expect(silent, reset)
	c := dial(t, p)
	c.send("a")
	c.expect("a", nil)
}

func TestProxyStalls(t *testing.T) {
	for _, way := range []Way{Requests, Answers, Both} {
		t.Run(string(way), func(t *testing.T) {
			p := echo(t)
			c := dial(t, p)
			p.Stall(way)
			c.send("abc")
			c.expect(silent, os.ErrDeadlineExceeded)
			p.Stall("")
			c.expect("abc", nil)
			p.Stall(way)
			c.send("d")
			p.CutAll()
			c.expect(silent, reset)
		})
	}
}

func TestProxyHalfOpen(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	c.send("a")
	c.expect("a", nil)
	p.HalfOpen()
	c.send("b")
	c.expect(silent, os.ErrDeadlineExceeded)
	other := dial(t, p)
	other.send("a")
	other.expect("a", nil)
	p.Heal()
	c.expect(silent, reset)
	other.send("b")
	other.expect("b", nil)
}

// What is held arrives when nobody waits for its answer any more.
func TestProxyHolds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	late := make(chan string, 2)
	p, err := StartProxy(l.Addr().String(), func(_ time.Time, piece []byte) { late <- string(piece) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client := dial(t, p)
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	server := peer{t, accepted}
	client.send("a")
	server.expect("a", nil)
	p.Hold()
	client.send("bc")
	server.expect(silent, os.ErrDeadlineExceeded)
	p.Release()
	server.expect("bc", nil) // late, but its client is still there
	p.Hold()
	client.send("de")
	server.expect(silent, os.ErrDeadlineExceeded)
	p.Orphan()
	client.expect(silent, reset)
	server.expect(silent, os.ErrDeadlineExceeded)
	p.Release()
	server.expect("de", io.EOF)
	p.Close()
	close(late)
	var told []string
	for piece := range late {
		told = append(told, piece)
	}
	if diff := cmp.Diff([]string{"de"}, told); diff != "" {
		t.Errorf("told of what came late (-want +got):\n%s", diff)
	}
}

// What is held for a server that goes is held for nobody.
func TestProxyHoldsForNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := StartProxy(l.Addr().String(), func(_ time.Time, piece []byte) { t.Errorf("told that %q came late", piece) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client := dial(t, p)
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client.send("a")
	peer{t, accepted}.expect("a", nil)
	p.Hold()
	client.send("bc")
	peer{t, accepted}.expect(silent, os.ErrDeadlineExceeded)
	p.Orphan()
	client.expect(silent, reset)
	_ = accepted.(*net.TCPConn).SetLinger(0) // as of a program that is killed
	_ = accepted.Close()
	for !p.empty() {
		time.Sleep(time.Millisecond)
	}
	p.Release()
}

// empty tells whether there is no connection.
func (p *Proxy) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links) == 0
}

func TestProxyRefuses(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	c.send("a")
	c.expect("a", nil)
	p.Refuse(true)
	c.expect(silent, reset)
	if refused, err := net.Dial("tcp", p.Addr().String()); err == nil { // else it was reset at once
		defer refused.Close()
		peer{t, refused}.expect(silent, reset)
	}
	p.Heal()
	c = dial(t, p)
	c.send("a")
	c.expect("a", nil)
}

func TestProxyDelays(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	p.Delay(Both, 20*time.Millisecond)
	c.send("abc")
	c.expect("abc", nil)
	p.Delay("", 0)
	c.send("d")
	c.expect("d", nil)
}

// What the far side sends before it closes still arrives, and so does the end.
func TestProxyEnds(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	c.send("abc")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	// The proxy closes both sides at the end of one: a half-closed connection is nothing that Kafka or Iggy use.
	if _, err := io.ReadAll(c); err != nil && !errors.Is(err, reset) {
		t.Error(err)
	}
}
