// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Proxy stands between a client and an Iggy server and does to their frames what a script says. A script has one rule
// per line:
//
//	<command> <which> <request|answer> <action> [argument]
//
//	command  a command as Iggy writes it (message.send, topic.get), or any
//	which    the number of the frame since the script was set, from 1, among those that the rule's command fits; or *
//	action   delay <duration>   pass the frame on later
//	         stall              pass nothing on any more, on this connection and in this direction
//	         cut <n>            pass n bytes of the frame on, then close both sides
//	         corrupt <n>        turn over the bits of byte n of the frame
//
// The first rule that fits counts.
type Proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	rules  []rule
	seen   map[rule]int // frames that fit a rule
	asked  map[iggywire.Code]int
	conns  map[net.Conn]struct{}
	refuse bool
	closed bool
	watch  func(Frame)
}

// Frame is one that passes a Proxy.
type Frame struct {
	Conn   string        // the connection: its client's address, as the server sees it
	Code   iggywire.Code // of the request, or of that which it answers
	Answer bool
	Body   []byte // without the header; it is not kept
}

type rule struct {
	command string
	which   int // 0: all
	answer  bool
	action  string
	delay   time.Duration
	n       int
}

// StartProxy listens on a port of its own in front of target.
func StartProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}, asked: map[iggywire.Code]int{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Asked is how many requests of a command came from clients since the start.
func (p *Proxy) Asked(code iggywire.Code) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[code]
}

// Script replaces the rules and begins to count anew. An empty script passes everything on.
func (p *Proxy) Script(text string) error {
	var rules []rule
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		r, err := parseRule(strings.Fields(line))
		if err != nil {
			return fmt.Errorf("bridgetest: rule %q: %w", line, err)
		}
		rules = append(rules, r)
	}
	p.mu.Lock()
	p.rules, p.seen = rules, map[rule]int{}
	p.mu.Unlock()
	return nil
}

func parseRule(words []string) (r rule, err error) {
	if len(words) < 4 || len(words) > 5 {
		return r, errors.New("wants command, which, direction, action and perhaps an argument")
	}
	r.command, r.action = words[0], words[3]
	if words[1] != "*" {
		if r.which, err = strconv.Atoi(words[1]); err != nil || r.which < 1 {
			return r, errors.New("which is a number from 1 on, or *")
		}
	}
	if r.answer = words[2] == "answer"; !r.answer && words[2] != "request" {
		return r, errors.New("the direction is request or answer")
	}
	argument := strings.Join(words[4:], "")
	switch r.action {
	case "stall":
	case "delay":
		r.delay, err = time.ParseDuration(argument)
	case "cut", "corrupt":
		r.n, err = strconv.Atoi(argument)
	default:
		err = errors.New("no such action")
	}
	return r, err
}

// Watch has every frame told to see before it is passed on, from many goroutines; nil ends it.
func (p *Proxy) Watch(see func(Frame)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = see
}

func (p *Proxy) tell(f Frame) {
	p.mu.Lock()
	see := p.watch
	p.mu.Unlock()
	if see != nil {
		see(f)
	}
}

// Refuse closes every connection, and new ones at once, until it is called with false.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
	if refuse {
		p.closeConns()
	}
}

// closeConns closes all connections. mu is held.
func (p *Proxy) closeConns() {
	for c := range p.conns {
		_ = c.Close()
	}
}

// Close ends the proxy and waits for its goroutines.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.closeConns()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		if p.refuse || p.closed {
			p.mu.Unlock()
			_, _ = client.Close(), server.Close()
			continue
		}
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.serve(client, server) })
	}
}

// serve passes frames on in both directions until one of them ends.
func (p *Proxy) serve(client, server net.Conn) {
	end := func() { _, _ = client.Close(), server.Close() }
	defer func() {
		end()
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
	}()
	conn := server.LocalAddr().String()
	asked := make(chan iggywire.Code, 1024) // commands whose answers are due
	var both sync.WaitGroup
	both.Go(func() {
		defer end()
		defer close(asked)
		p.pass(conn, client, server, func(header []byte) (iggywire.Code, int, bool) {
			code, n, err := iggywire.ParseRequestHeader(header)
			if err == nil {
				asked <- code
			}
			return code, n, err == nil
		}, false)
	})
	both.Go(func() {
		defer end()
		p.pass(conn, server, client, func(header []byte) (iggywire.Code, int, bool) {
			_, n, err := iggywire.ParseResponseHeader(header)
			code, ok := <-asked
			return code, n, err == nil && ok
		}, true)
	})
	both.Wait()
}

// pass reads frames from one side and writes them to the other.
func (p *Proxy) pass(conn string, from, to net.Conn, open func(header []byte) (iggywire.Code, int, bool), answer bool) {
	for {
		frame := make([]byte, iggywire.HeaderSize)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		code, n, ok := open(frame)
		if !ok {
			return
		}
		frame = append(frame, make([]byte, n)...)
		if _, err := io.ReadFull(from, frame[iggywire.HeaderSize:]); err != nil {
			return
		}
		p.tell(Frame{conn, code, answer, frame[iggywire.HeaderSize:]})
		r := p.match(code, answer)
		switch r.action {
		case "stall":
			_, _ = io.Copy(io.Discard, from)
			return
		case "cut":
			_, _ = to.Write(frame[:min(r.n, len(frame))])
			return
		case "corrupt":
			frame[min(r.n, len(frame)-1)] ^= 0xff
		case "delay":
			time.Sleep(r.delay)
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

// match counts a frame and returns the first rule that fits it, or the zero rule.
func (p *Proxy) match(code iggywire.Code, answer bool) rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !answer {
		p.asked[code]++
	}
	var found rule
	for _, r := range p.rules {
		if r.answer != answer || r.command != "any" && r.command != code.String() {
			continue
		}
		p.seen[r]++
		if found.action == "" && (r.which == 0 || r.which == p.seen[r]) {
			found = r
		}
	}
	return found
}
