// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
)

// fault is what goes wrong between the gateway and Iggy.
type fault int

const (
	noFault   fault = iota
	silent          // requests get lost: connections are accepted and nothing is answered
	answerGap       // requests arrive, answers get lost
	cut             // the connection ends within an answer
	garbage         // something else comes in place of an answer
	refusing        // connections are closed as soon as they are accepted
)

func (f fault) String() string {
	return [...]string{"none", "silent", "answers lost", "cut", "garbage", "refused"}[f]
}

// faulty is a way to Iggy that can be broken.
type faulty struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	fault fault
	conns map[net.Conn]struct{}
}

func newFaulty(tb testing.TB, target string) *faulty {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	f := &faulty{target: target, listener: l, conns: map[net.Conn]struct{}{}}
	f.running.Go(f.accept)
	tb.Cleanup(func() {
		l.Close()
		f.mu.Lock()
		f.fault = refusing
		for nc := range f.conns {
			nc.Close()
		}
		f.mu.Unlock()
		f.running.Wait()
	})
	return f
}

// set begins a fault, or ends it: connections that have lost bytes stay as they are, new ones are good.
func (f *faulty) set(fault fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
	if fault == refusing {
		for nc := range f.conns {
			nc.Close()
		}
	}
}

func (f *faulty) current() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

func (f *faulty) accept() {
	for {
		nc, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.running.Go(func() { f.serve(nc) })
	}
}

// add registers a connection; false if it should not live.
func (f *faulty) add(nc net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == refusing {
		return false
	}
	f.conns[nc] = struct{}{}
	return true
}

func (f *faulty) serve(client net.Conn) {
	defer client.Close()
	iggy, err := net.Dial("tcp", f.target)
	if err != nil {
		return
	}
	defer iggy.Close()
	if !f.add(client) {
		return
	}
	defer func() {
		f.mu.Lock()
		delete(f.conns, client)
		f.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() {
		defer iggy.Close()
		f.requests(client, iggy)
	})
	f.answers(client, iggy)
	client.Close()
	both.Wait()
}

// requests passes on what the gateway says, until a fault swallows it.
func (f *faulty) requests(client, iggy net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		switch f.current() {
		case silent:
			_, _ = io.Copy(io.Discard, client)
			return
		case garbage:
			_, _ = client.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
			_, _ = io.Copy(io.Discard, client)
			return
		}
		if _, err := iggy.Write(buf[:n]); err != nil {
			return
		}
	}
}

// answers passes on what Iggy says, until a fault ends that.
func (f *faulty) answers(client, iggy net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := iggy.Read(buf)
		if err != nil {
			if f := f.current(); f == silent || f == garbage {
				_, _ = io.Copy(io.Discard, client)
			}
			return
		}
		switch f.current() {
		case answerGap:
			_, _ = io.Copy(io.Discard, iggy)
			return
		case cut:
			_, _ = client.Write(buf[:n/2])
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func startIggy(tb testing.TB) *embedded.Server {
	tb.Helper()
	iggy, err := embedded.Start(tb.Context(), embedded.Config{InMemory: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { iggy.Close() })
	return iggy
}

// behindProxy starts a gateway with a proxy between it and Iggy.
func behindProxy(t *testing.T) (*gateway, *bridgetest.Proxy, *embedded.Server) {
	t.Helper()
	iggy := startIggy(t)
	proxy, err := bridgetest.StartProxy(iggy.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return start(t, setup{iggyAddr: proxy.Addr()}), proxy, iggy
}

func script(t *testing.T, p *bridgetest.Proxy, text string) {
	t.Helper()
	if err := p.Script(text); err != nil {
		t.Fatal(err)
	}
}
