// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Proxy stands between clients and a server and does to their bytes what a network does, knowing nothing of what they
// mean. Its methods return at once and are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	late     func(at time.Time, piece []byte)
	target   string
	running  sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	weather weather
	changed chan struct{} // closed and replaced with each change of weather
	closed  bool
}

// weather is what all connections suffer.
type weather struct {
	refuse  bool
	stalled Way           // empty: none
	delayed Way           // empty: none
	delay   time.Duration // most of a piece
}

// StartProxy listens on a port of its own; connections go on to target. Late, unless nil, is called with what a client had
// sent over a connection that it has lost, when the target has been sent that all the same, and with a time before. The
// bytes begin where the client began a write, unless it writes more at once than the proxy reads. Late must not keep them.
func StartProxy(target string, late func(at time.Time, piece []byte)) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, late: late, target: target, links: map[*link]struct{}{}, changed: make(chan struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// SetTarget has new connections go elsewhere.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Addr is where clients connect.
func (p *Proxy) Addr() *net.TCPAddr { return p.listener.Addr().(*net.TCPAddr) }

// Close ends the proxy, its connections and its goroutines.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.set(weather{refuse: true})
	p.mu.Unlock()
	p.CutAll()
	p.running.Wait()
}

// CutAll resets every connection.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// CutAfter resets every connection that there is when more than n bytes have gone one way from now on.
func (p *Proxy) CutAfter(n int, way Way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.limit(n, way)
	}
}

// HalfOpen closes the servers' sides; the clients wait for answers that nobody will send, until the connections are cut.
func (p *Proxy) HalfOpen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.abandon()
	}
}

// Hold keeps back what clients send from now on over the connections that there are, until Release.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.hold()
	}
}

// Orphan resets the clients' sides of what is held; the servers' sides stay until Release, and are not told.
func (p *Proxy) Orphan() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.orphan()
	}
}

// Release lets what is held go on to the servers.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.release()
	}
}

// Refuse resets every connection and, until it is told otherwise, each new one.
func (p *Proxy) Refuse(refuse bool) {
	p.change(func(w *weather) { w.refuse = refuse })
	if refuse {
		p.CutAll()
	}
}

// Stall has nothing go that way on any connection, until it is told otherwise: the way "".
func (p *Proxy) Stall(way Way) { p.change(func(w *weather) { w.stalled = way }) }

// Delay holds each piece that goes that way back for up to most, until it is told otherwise.
func (p *Proxy) Delay(way Way, most time.Duration) {
	p.change(func(w *weather) { w.delayed, w.delay = way, most })
}

// Heal ends everything that lasts or is still to come. Connections that lead nowhere are reset.
func (p *Proxy) Heal() {
	p.change(func(w *weather) { *w = weather{} })
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.heal()
	}
}

func (p *Proxy) change(edit func(*weather)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.weather
	edit(&w)
	p.set(w)
}

// set changes the weather. mu is held.
func (p *Proxy) set(w weather) {
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) now() (weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather, p.changed
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	l := &link{client: client, gone: make(chan struct{}), left: map[Way]int{}}
	p.mu.Lock()
	target, refused := p.target, p.weather.refuse || p.closed
	p.mu.Unlock()
	if refused {
		l.reset()
		return
	}
	server, err := net.DialTimeout("tcp", target, 10*time.Second)
	if err != nil {
		l.reset()
		return
	}
	l.server = server.(*net.TCPConn)
	p.mu.Lock()
	if p.weather.refuse || p.closed {
		p.mu.Unlock()
		l.reset()
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(l, l.client, l.server, Requests) })
	both.Go(func() { p.pass(l, l.server, l.client, Answers) })
	both.Wait()
	l.reset()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass copies one way until an end is reached; the other way then ends, too, unless one side was to be kept.
func (p *Proxy) pass(l *link, from, to *net.TCPConn, way Way) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if way == Requests && !l.wait() || !p.hold(l, way) {
			return
		}
		allowed, cut := l.take(n, way)
		begin := time.Now()
		_, werr := to.Write(buffer[:allowed])
		if werr == nil && allowed > 0 && p.late != nil && way == Requests && l.isOrphaned() {
			p.late(begin, buffer[:allowed])
		}
		if err == nil {
			err = werr
		}
		if cut {
			l.reset()
			return
		}
		if err == nil {
			continue
		}
		switch {
		case l.isAbandoned():
			<-l.gone // what the client still sends is left in its socket
		case way == Answers && l.isOrphaned():
			_, _ = io.Copy(io.Discard, from) // as long as the server is there to take what is held
			l.end()
		default:
			l.end()
		}
		return
	}
}

// hold waits as long as the weather wants, and tells whether the link is still there.
func (p *Proxy) hold(l *link, way Way) bool {
	delayed := false
	for {
		w, changed := p.now()
		switch {
		case w.stalled.includes(way):
			select {
			case <-changed:
			case <-l.gone:
				return false
			}
		case w.delayed.includes(way) && !delayed:
			delayed = true
			select {
			case <-time.After(rand.N(w.delay)):
			case <-l.gone:
				return false
			}
		default:
			return true
		}
	}
}

// link is a connection through the proxy.
type link struct {
	client, server *net.TCPConn
	gone           chan struct{} // closed with both sides

	mu        sync.Mutex
	left      map[Way]int   // bytes that still pass; a way that is missing has no limit
	held      chan struct{} // closed by release; nil: nothing is held
	abandoned bool          // the server's side is closed, the client's is not
	orphaned  bool          // the client's side is closed, the server's is not
	closed    bool
}

// reset closes both sides; the peers are told so at once (RST).
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(true)
}

// end closes both sides after what was written to them (FIN).
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(false)
}

// close closes both sides, unless they are. mu is held.
func (l *link) close(reset bool) {
	if l.closed {
		return
	}
	l.closed = true
	close(l.gone)
	for _, c := range []*net.TCPConn{l.client, l.server} {
		if c == nil {
			continue
		}
		if reset {
			_ = c.SetLinger(0)
		}
		_ = c.Close()
	}
}

// heal lets any number of bytes pass again; it is too late for a link that leads nowhere.
func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.left)
	if l.abandoned {
		l.close(true)
	}
}

func (l *link) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.abandoned && !l.closed {
		l.abandoned = true
		_ = l.server.Close()
	}
}

func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

// wait waits while requests are held, and tells whether the link is still there.
func (l *link) wait() bool {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-l.gone:
		return false
	}
}

func (l *link) orphan() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil && !l.orphaned && !l.closed {
		l.orphaned = true
		_, _ = l.client.SetLinger(0), l.client.Close()
	}
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

func (l *link) isOrphaned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orphaned
}

func (l *link) isAbandoned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.abandoned
}

func (l *link) limit(n int, way Way) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range []Way{Requests, Answers} {
		if way.includes(one) {
			l.left[one] = n
		}
	}
}

// take tells how many of n bytes may pass, and whether that was the end.
func (l *link) take(n int, way Way) (allowed int, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, limited := l.left[way]
	if !limited {
		return n, false
	}
	l.left[way] = max(left-n, 0)
	return min(n, left), n > left
}
