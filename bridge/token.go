// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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
	made  int64    // how many have been
	left  []string // names that Iggy may have a token for which nobody uses, to be deleted: a handful at most, see mint

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

// due reports that the token should be replaced, or another one be deleted at last.
func (p *pass) due(now time.Time) (renew, clean bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.token != nil && !now.Before(p.renew), len(p.left) > 0
}

func (p *pass) next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	return p.made
}

// set replaces the token, of which no byte is kept; in Iggy the old one is left.
func (p *pass) set(name string, token []byte, renew time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.token)
	if p.name != "" {
		p.left = append(p.left, p.name)
	}
	p.name, p.token, p.renew = name, token, renew
}

// leave remembers that a token of that name may have been made, which nobody was told.
func (p *pass) leave(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = append(p.left, name)
}

// leftOver returns the name of a token to delete; empty: there is none.
func (p *pass) leftOver() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return ""
	}
	return p.left[0]
}

// deleted forgets a name that leftOver has returned.
func (p *pass) deleted(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = slices.DeleteFunc(p.left, func(l string) bool { return l == name })
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

// mint makes a token, and deletes the one it replaces. It has the turn. As long as one cannot be deleted no other one is made:
// for a user whose connections are lost again and again they would pile up until they expire.
func (s *Session) mint(ctx context.Context, ask requester) error {
	if err := s.clean(ctx, ask); err != nil {
		return err
	}
	life := s.b.cfg.TokenLife
	renew := time.Now().Add(life / 2)
	name, secret, err := s.create(ctx, ask, life)
	if err != nil {
		if err = unlessRefused(err); err == nil && s.pass.complain() {
			s.b.cfg.Logger.Warn("iggy gives no personal access token: connections are the user's clients' own", "user_id", s.id.String())
		}
		return err
	}
	s.pass.set(name, secret, renew)
	s.writes.setMax(s.b.cfg.MaxWriteConnections)
	return s.clean(ctx, ask)
}

// clean deletes the tokens that are left. One that Iggy does not delete for this user is left to expire.
func (s *Session) clean(ctx context.Context, ask requester) error {
	for name := s.pass.leftOver(); name != ""; name = s.pass.leftOver() {
		a, err := ask(ctx, iggywire.DeleteToken{Name: name})
		a.release()
		if err := unlessRefused(err); err != nil {
			return err
		}
		s.pass.deleted(name)
	}
	return nil
}

// takenNames is how many names in a row may be taken.
const takenNames = 5

// create has Iggy make a token.
func (s *Session) create(ctx context.Context, ask requester, life time.Duration) (name string, secret []byte, err error) {
	for range takenNames {
		name = s.b.tokenName(s.pass.next())
		var a answer
		a, err = ask(ctx, iggywire.CreateToken{Name: name, Expiry: uint64(life.Microseconds())})
		if hasStatus(err, iggywire.StatusTokenExists) { // this process made it, and lost the answer, or could not delete it
			s.pass.leave(name)
			continue
		}
		if err != nil {
			if unlessRefused(err) != nil {
				s.pass.leave(name)
			}
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

// renew replaces the session's token when it is due, and deletes those that are left. What fails is tried again at the next tick.
func (s *Session) renew(ctx context.Context, now time.Time) error {
	renew, clean := s.pass.due(now)
	if !renew && !clean {
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
	do := s.clean
	if renew {
		do = s.mint
	}
	err := do(ctx, s.request)
	if err != nil {
		s.b.cfg.Logger.Warn("a personal access token cannot be replaced or deleted", "user_id", s.id.String(), "err", err)
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

// revoke deletes the session's tokens.
func (s *Session) revoke(ctx context.Context) {
	s.pass.set("", nil, time.Time{})
	if err := s.clean(ctx, s.request); err != nil {
		s.b.cfg.Logger.Warn("a personal access token could not be deleted: it expires", "user_id", s.id.String(), "name", s.pass.leftOver(), "err", err)
	}
}
