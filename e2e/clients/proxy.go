// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Fate is what becomes of a request, and of its connection, on its way through a Proxy.
type Fate int

const (
	Pass       Fate = iota
	LoseSent        // the connection ends before the server has the request
	LoseAnswer      // the connection ends once the server has answered, before the client knows
)

// Proxy stands between clients and a server and ends connections at the moments that are hard for those who write. It
// knows requests from one another, each of which must have an answer.
type Proxy struct {
	server   string
	protocol protocol
	listener net.Listener
	fate     func(key int16, n int) Fate
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{} // both ends of each connection
	seen   map[int16]int         // requests by key
	lost   int
}

// protocol is how a proxy reads what passes.
type protocol interface {
	// request reads one request, and tells what it is: a key, and the version of it where there are several.
	request(from io.Reader) (frame []byte, key, version int16, err error)
	// answer reads the answer to a request; it may put the proxy's address into it.
	answer(from io.Reader, key, version int16, proxy *net.TCPAddr) ([]byte, error)
}

// start listens on a port of its own. Fate is asked for the nth request of a key, counted from 1 over all connections, by
// one goroutine at a time.
func start(server string, protocol protocol, fate func(key int16, n int) Fate) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	p := &Proxy{server: server, protocol: protocol, listener: listener, fate: fate, open: map[net.Conn]struct{}{}, seen: map[int16]int{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Lost is how many requests did not pass.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Seen is how many requests of a key there were.
func (p *Proxy) Seen(key int16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[key]
}

// Close ends all connections and waits for them.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil || !p.hold(client, server) {
			_ = client.Close() // the server is away, as the client sees
			continue
		}
		c := &proxied{proxy: p, client: client, server: server, asked: make(chan passing, 1000)}
		p.running.Go(c.requests)
		p.running.Go(c.answers)
	}
}

// hold keeps connections until they are let go, unless the proxy is closed already.
func (p *Proxy) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			_ = conn.Close()
		}
		p.open[conn] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) letGo(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.open, conn)
	}
}

// decide says what becomes of a request.
func (p *Proxy) decide(key int16) Fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[key]++
	fate := p.fate(key, p.seen[key])
	if fate != Pass {
		p.lost++
	}
	return fate
}

// passing is a request whose answer is to come.
type passing struct {
	key, version int16
	fate         Fate
}

// proxied is one client's connection. Two goroutines own it: when the one that reads requests ends, the other answers what
// is open and closes both ends, which ends the first.
type proxied struct {
	proxy          *Proxy
	client, server net.Conn
	asked          chan passing // from requests to answers
}

func (c *proxied) requests() {
	defer close(c.asked)
	for {
		frame, key, version, err := c.proxy.protocol.request(c.client)
		if err != nil {
			return
		}
		req := passing{key: key, version: version, fate: c.proxy.decide(key)}
		c.asked <- req
		if req.fate == LoseSent {
			return
		}
		if _, err := c.server.Write(frame); err != nil {
			return
		}
	}
}

func (c *proxied) answers() {
	defer func() {
		c.proxy.letGo(c.client, c.server)
		for range c.asked { // it may be waiting for room
		}
	}()
	for req := range c.asked { // those before a request that is lost are answered
		if req.fate == LoseSent {
			return
		}
		frame, err := c.proxy.protocol.answer(c.server, req.key, req.version, c.proxy.listener.Addr().(*net.TCPAddr))
		if err != nil || req.fate == LoseAnswer {
			return
		}
		if _, err := c.client.Write(frame); err != nil {
			return
		}
	}
}

// readSized returns a header of n bytes and what follows it, whose length the header tells.
func readSized(from io.Reader, n int, length func(header []byte) uint32) ([]byte, error) {
	header := make([]byte, n)
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	size := length(header)
	if size > mostAnswer {
		return nil, fmt.Errorf("clients: a frame of %d bytes", size)
	}
	frame := append(header, make([]byte, size)...)
	_, err := io.ReadFull(from, frame[n:])
	return frame, err
}
