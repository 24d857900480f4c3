// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package probetest has a server to try probes on: it answers every request with kmsg's default answer, and can be
// told to do that badly.
package probetest

import (
	"bufio"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Server says how to serve.
type Server struct {
	Advertised *wire.Table // what ApiVersions answers
	Served     *wire.Table // what the firewall lets through; nil: what is advertised
	// Spoil, if set, changes an answer, given from its length on. Nothing is written for an empty one, and the
	// connection is closed for a nil one.
	Spoil func(req *wire.Request, answer []byte) []byte
}

// Start serves until the test ends, and returns the address.
func (s Server) Start(t testing.TB) string {
	t.Helper()
	if s.Served == nil {
		s.Served = s.Advertised
	}
	return Listen(t, s.serve)
}

// Listen runs serve for each connection until the test ends; the connection is closed when serve returns, or under it
// at the end.
func Listen(t testing.TB, serve func(conn net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		conns   []net.Conn // guarded by mu
		ended   bool       // guarded by mu
	)
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			if ended {
				conn.Close()
			}
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		ended = true
		for _, conn := range conns {
			conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

func (s Server) serve(conn net.Conn) {
	limits := wire.Limits{MaxFrameSize: 1 << 20, SmallFrameSize: 1 << 20}
	var pool wire.Pool
	r := bufio.NewReader(conn)
	for {
		p, err := s.Served.ReadPreamble(r, limits)
		if err != nil {
			return
		}
		frame, err := p.ReadFrame(r, &pool)
		if err != nil {
			return
		}
		req, err := s.Served.Decode(frame.B)
		if err != nil {
			return
		}
		resp := req.Body.ResponseKind()
		if ask, ok := req.Body.(*kmsg.ApiVersionsRequest); ok {
			resp = s.Advertised.ApiVersions(ask)
		}
		answer := wire.AppendResponse(nil, req.Header.CorrelationID, resp)
		if s.Spoil != nil {
			if answer = s.Spoil(req, answer); answer == nil {
				return
			}
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}
