// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// A token is named
//
//	PREFIX "-" 8 hex digits of this process "-" number in base 36
//
// in at most 30 bytes, which is all that Iggy takes; numbers of four digits last for decades.
const (
	bootSize       = 4 // bytes
	maxTokenPrefix = 30 - 1 - 2*bootSize - 1 - 4
)

func newBoot() string {
	var b [bootSize]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return hex.EncodeToString(b[:])
}

func (b *Bridge) tokenName(n int64) string {
	return b.cfg.TokenPrefix + "-" + b.boot + "-" + strconv.FormatInt(n, 36)
}

// isStale reports that a token was made by a predecessor of this process, which is no more.
func (b *Bridge) isStale(name string) bool {
	rest, ours := strings.CutPrefix(name, b.cfg.TokenPrefix+"-")
	boot, number, _ := strings.Cut(rest, "-")
	raw, err := hex.DecodeString(boot)
	_, notNumber := strconv.ParseInt(number, 36, 64)
	return ours && err == nil && len(raw) == bootSize && notNumber == nil && boot != b.boot
}

// pass is the personal access token by which a session opens connections, if it has one. It is in memory only.
type pass struct {
	turn chan struct{} // a semaphore of one: who makes a token

	mu    sync.Mutex
	name  string
	token []byte // nil: none
	renew time.Time
	made  int64 // how many have been

	complained bool // the log has it that Iggy gives none
}

func newPass() *pass { return &pass{turn: make(chan struct{}, 1)} }

// login returns the token's name, and the body of a sign-in by it; nil: there is none.
func (p *pass) login() (name string, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == nil {
		return "", nil
	}
	return p.name, iggywire.AppendLoginWithToken(nil, p.token)
}

func (p *pass) held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.token != nil
}

// due reports that the token should be replaced.
func (p *pass) due(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.token != nil && !now.Before(p.renew)
}

func (p *pass) next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	return p.made
}

// set replaces the token, of which no byte is left, and returns the name of the old one.
func (p *pass) set(name string, token []byte, renew time.Time) (old string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.token)
	old = p.name
	p.name, p.token, p.renew = name, token, renew
	return old
}

// drop forgets the token of that name, which was refused.
func (p *pass) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name == name {
		clear(p.token)
		p.name, p.token = "", nil
	}
}

// complain reports, once, that there is something to complain about.
func (p *pass) complain() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.complained
	p.complained = true
	return first
}

// makePass makes the session's first token over the connection of a client that has come by its password. Who has come by a token
// must not get another one, which would outlive it. It is no error that Iggy gives none.
func (s *Session) makePass(ctx context.Context, l *Login) error {
	if l.byToken {
		return nil
	}
	select {
	case s.pass.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("bridge: waiting for a token: %w", context.Cause(ctx))
	}
	defer func() { <-s.pass.turn }()
	if s.pass.held() {
		return nil
	}
	if err := s.sweepTokens(ctx, l.conn.request); err != nil {
		return err
	}
	return s.mint(ctx, l.conn.request)
}

// sweepTokens deletes the tokens that predecessors of this process have left behind.
func (s *Session) sweepTokens(ctx context.Context, ask requester) error {
	a, err := ask(ctx, iggywire.Bare(iggywire.CodeGetTokens))
	if err != nil {
		return unlessRefused(err)
	}
	tokens, err := parse(a, iggywire.ParseTokens)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if !s.b.isStale(t.Name) {
			continue
		}
		a, err := ask(ctx, iggywire.DeleteToken{Name: t.Name})
		a.release()
		if err = unlessRefused(err); err != nil {
			return err
		}
	}
	return nil
}

// mint makes a token, and deletes the one it replaces. It has the turn.
func (s *Session) mint(ctx context.Context, ask requester) error {
	life := s.b.cfg.TokenLife
	renew := time.Now().Add(life / 2)
	name, secret, err := s.create(ctx, ask, life)
	if err != nil {
		if err = unlessRefused(err); err == nil && s.pass.complain() {
			s.b.cfg.Logger.Warn("iggy gives no personal access token: connections are the user's clients' own", "user_id", s.id.String())
		}
		return err
	}
	old := s.pass.set(name, secret, renew)
	s.writes.setMax(s.b.cfg.MaxWriteConnections)
	if old == "" {
		return nil
	}
	a, err := ask(ctx, iggywire.DeleteToken{Name: old})
	a.release()
	return unlessRefused(err)
}

// takenNames is how many names in a row may be taken: by tokens that could not be deleted, or whose making was not answered.
const takenNames = 5

// create has Iggy make a token.
func (s *Session) create(ctx context.Context, ask requester, life time.Duration) (name string, secret []byte, err error) {
	for range takenNames {
		name = s.b.tokenName(s.pass.next())
		var a answer
		a, err = ask(ctx, iggywire.CreateToken{Name: name, Expiry: uint64(life.Microseconds())})
		if hasStatus(err, iggywire.StatusTokenExists) {
			continue
		}
		if err != nil {
			break
		}
		raw, err := iggywire.ParseRawToken(a.bytes())
		clear(a.bytes())
		a.release()
		if err != nil {
			return "", nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return name, []byte(raw.Token), nil
	}
	return "", nil, err
}

// unlessRefused returns the errors that are not Iggy's plain no.
func unlessRefused(err error) error {
	var no *StatusError
	if errors.As(err, &no) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnavailable) &&
		no.Status != iggywire.StatusUnauthenticated && no.Status != iggywire.StatusInvalidCommand {
		return nil
	}
	return err
}

// renew replaces the session's token when it is due. One that cannot be replaced is tried again at the next tick.
func (s *Session) renew(ctx context.Context, now time.Time) error {
	if !s.pass.due(now) {
		return nil
	}
	select {
	case s.pass.turn <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-s.pass.turn }()
	ctx, cancel := context.WithTimeout(ctx, s.b.cfg.CallTimeout)
	defer cancel()
	err := s.mint(ctx, s.request)
	if err != nil {
		s.b.cfg.Logger.Warn("a personal access token cannot be renewed", "user_id", s.id.String(), "err", err)
	}
	return err
}

// remake makes a token in place of one that Iggy no longer takes, over a connection that is left.
func (s *Session) remake(ctx context.Context) error {
	c := s.reads.lend()
	if c == nil {
		return fmt.Errorf("%w: no connection is left", ErrRefused)
	}
	select {
	case s.pass.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.pass.turn }()
	if s.pass.held() {
		return nil
	}
	return s.mint(ctx, c.request)
}

// revoke deletes the session's token.
func (s *Session) revoke(ctx context.Context) {
	name := s.pass.set("", nil, time.Time{})
	if name == "" {
		return
	}
	a, err := s.request(ctx, iggywire.DeleteToken{Name: name})
	a.release()
	if err = unlessRefused(err); err != nil {
		s.b.cfg.Logger.Warn("a personal access token could not be deleted: it expires", "user_id", s.id.String(), "name", name, "err", err)
	}
}
