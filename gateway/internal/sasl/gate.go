// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

var (
	// ErrRefused: the client is not who it says, or says it wrongly. RefusalText is what it may be told.
	ErrRefused = errors.New("sasl: refused")
	// ErrUnavailable: the token could not be checked in time. The client may try again.
	ErrUnavailable = errors.New("sasl: cannot check the token")
)

// Principal is who has authenticated. It is released by whom it was given to.
type Principal interface {
	Name() string
	Release()
}

// Authenticator says whether a user may come in with a password, whose bytes it overwrites. The error wraps ErrRefused when the
// answer is no, whatever the reason; any other means that there is none. It returns soon after ctx is done.
type Authenticator func(ctx context.Context, user string, password []byte) (Principal, error)

// Config says how a Gate checks. Every field but SecretUser is required.
type Config struct {
	Authenticator Authenticator
	// Concurrent is how many checks there may be at a time.
	Concurrent int
	// Timeout bounds the wait for one's turn, and then the check.
	Timeout time.Duration
	// RejectionDelay is when after its token a client is told that it is refused: how long the check took says whether
	// there is such a user.
	RejectionDelay time.Duration
	// SecretUser is the user name under which the password alone says who it is.
	SecretUser string
}

// Gate checks tokens. All methods are safe for concurrent use.
type Gate struct {
	cfg       Config
	slots     *slots
	penalties *penalties
	guesses   *guesses
	counts    counts

	// ctx is the checks'; it ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	checks sync.WaitGroup
}

// NewGate returns a gate; Close ends it.
func NewGate(cfg Config) *Gate {
	g := &Gate{cfg: cfg, slots: newSlots(cfg.Concurrent), penalties: newPenalties(), guesses: newGuesses()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Close ends the checks that are under way and waits for them. Nobody may ask for another by then.
func (g *Gate) Close() {
	g.cancel()
	g.checks.Wait()
}

// Login checks a token of a client at an address. holder is who has authenticated on the connection before and must not become
// another; empty: nobody. The token's bytes are overwritten before anything is waited for. When ctx ends, Login returns at
// once; a check that has begun goes on, as Iggy would not be told, and keeps its place among those that may be at a time.
//
// The error is ctx's, or wraps ErrRefused, returned at RejectionDelay or at a multiple of it, or ErrUnavailable.
func (g *Gate) Login(ctx context.Context, from netip.Addr, token []byte, holder string) (Principal, error) {
	came := time.Now()
	p, err := g.login(ctx, from, token, holder)
	g.counts.login(err)
	if errors.Is(err, ErrRefused) {
		if err := sleep(ctx, untilMoment(time.Since(came), g.cfg.RejectionDelay)); err != nil {
			return nil, err
		}
	}
	return p, err
}

// loginError says who could not log in, for the log.
type loginError struct {
	user string
	err  error
}

func (e *loginError) Error() string { return fmt.Sprintf("%v: user %.128q", e.err, e.user) }
func (e *loginError) Unwrap() error { return e.err }

func (g *Gate) login(ctx context.Context, from netip.Addr, token []byte, holder string) (Principal, error) {
	user, password, err := parseToken(token)
	password = bytes.Clone(password)
	clear(token)
	if err != nil {
		return nil, err
	}
	p, err := g.authenticate(ctx, from, user, password)
	if err != nil {
		return nil, &loginError{user, err}
	}
	if holder != "" && p.Name() != holder {
		p.Release()
		return nil, &loginError{user, errOtherHolder}
	}
	return p, nil
}

// authenticate checks a password when its turn has come. The password is overwritten.
func (g *Gate) authenticate(ctx context.Context, from netip.Addr, user string, password []byte) (Principal, error) {
	a := g.penalties.attempt(from, user, password, user == g.cfg.SecretUser)
	if err := g.awaitTurn(ctx, a); err != nil {
		clear(password)
		return nil, err
	}
	return g.check(ctx, a, user, password)
}

// awaitTurn waits until the attempt may be checked, by no more than Timeout, or is penalized. Whose turn has come calls endTurn.
func (g *Gate) awaitTurn(ctx context.Context, a attempt) error {
	waiting, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	err := g.beginTurn(waiting, a)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: others were being checked for %v, at most %d at a time", ErrUnavailable, g.cfg.Timeout, g.cfg.Concurrent)
	}
	return err
}

// beginTurn takes the slot last: who waits for something else must not keep others from it. Whatever was waited for, the attempt may
// be penalized by then for what was refused meanwhile.
func (g *Gate) beginTurn(ctx context.Context, a attempt) error {
	if err := g.beginGuess(ctx, a); err != nil {
		return err
	}
	if err := g.slots.acquire(ctx, a.user.from); err != nil {
		g.guesses.end(a)
		return err
	}
	if g.penalties.pending(a, time.Now()) {
		g.endTurn(a)
		return penalized{errCredentials}
	}
	return nil
}

// beginGuess waits until no other password of the attempt's user is being checked.
func (g *Gate) beginGuess(ctx context.Context, a attempt) error {
	for {
		if g.penalties.pending(a, time.Now()) {
			return penalized{errCredentials}
		}
		other := g.guesses.begin(a)
		if other == nil {
			return nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *Gate) endTurn(a attempt) {
	g.slots.release()
	g.guesses.end(a)
}

type outcome struct {
	principal Principal
	err       error
}

// check asks the Authenticator, and has a slot until that has answered.
func (g *Gate) check(ctx context.Context, a attempt, user string, password []byte) (Principal, error) {
	answer := make(chan outcome)
	g.checks.Go(func() {
		defer g.endTurn(a)
		asking, cancel := context.WithTimeout(g.ctx, g.cfg.Timeout)
		defer cancel()
		p, err := g.cfg.Authenticator(asking, user, password)
		clear(password)
		select {
		case answer <- outcome{p, g.judge(a, err)}:
		case <-ctx.Done():
			if err == nil {
				p.Release()
			}
		}
	})
	select {
	case got := <-answer:
		return got.principal, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// judge draws the conclusions of a check, and puts its error into the words of this package.
func (g *Gate) judge(a attempt, err error) error {
	switch {
	case err == nil:
		g.penalties.accepted(a)
		return nil
	case errors.Is(err, ErrRefused):
		g.penalties.rejected(a, time.Now())
		return errCredentials
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// untilMoment is how long after something took so long the next multiple of delay is.
func untilMoment(took, delay time.Duration) time.Duration {
	if delay <= 0 {
		return 0
	}
	return delay - took%delay
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RefusalText is what a client may be told of an error that wraps ErrRefused.
func RefusalText(err error) string {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.text
	}
	return errCredentials.text
}
