// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TestDial talks to a server within the process as over TCP, and is left with a closed connection when the server ends.
func TestDial(t *testing.T) {
	s, err := Start(t.Context(), Config{Addr: "127.0.0.1:0", InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Dial(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, req := range []iggywire.Request{iggywire.LoginUser{Username: "iggy", Password: "iggy"}, iggywire.CreateStream{Name: "s"}} {
		if status := ask(t, c, req); status != iggywire.StatusOK {
			t.Fatalf("%v: status %v", req.Code(), status)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the server's end: %v", err)
	}
	if _, err := s.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dialling a closed server: %v", err)
	}
}

// ask sends a request and returns the status of its answer, whose body it skips.
func ask(t *testing.T, c net.Conn, req iggywire.Request) iggywire.Status {
	t.Helper()
	body := req.AppendTo(nil)
	frame := append(iggywire.AppendRequestHeader(nil, req.Code(), len(body)), body...)
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	var header [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(c, header[:]); err != nil {
		t.Fatal(err)
	}
	status, n, err := iggywire.ParseResponseHeader(header[:])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
		t.Fatal(err)
	}
	return status
}

// TestLocalConn holds the connections of Dial against what every net.Conn must do.
func TestLocalConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		c1, c2 = newLocalPair()
		return c1, c2, func() { c1.Close(); c2.Close() }, nil
	})
}

// TestDialEndsWithContext: nobody accepts any more.
func TestDialEndsWithContext(t *testing.T) {
	s, err := Start(t.Context(), Config{Addr: "127.0.0.1:0", InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the server may be the faster one
		c, err := s.Dial(ctx, "", "")
		if err == nil {
			c.Close()
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		return
	}
	t.Fatal("a dial whose context had ended went on")
}
