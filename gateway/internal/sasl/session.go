// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"sync"
	"time"
)

// minRenewal is how long after a re-authentication has begun another one is declined (KafkaChannel's
// MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS). The first one may follow the first authentication at once.
const minRenewal = time.Second

// Rules are the machine and what all sessions of a gateway have in common. They do not change.
type Rules struct {
	// Lifetime is how long an authentication lasts; 0: as long as the connection.
	Lifetime time.Duration

	table [numStates][numInputs]transition
}

// NewRules returns the rules by which sessions last for a lifetime; 0: as long as their connections.
func NewRules(lifetime time.Duration) *Rules {
	return &Rules{Lifetime: lifetime, table: transitions()}
}

// Session is how far one connection has authenticated. It is safe for concurrent use; but inputs have an order, and a token's
// outcome comes before whatever the client sends next.
type Session struct {
	rules *Rules

	mu      sync.Mutex
	state   state
	holder  string    // who has authenticated; empty: nobody yet
	expires time.Time // zero: never
	renewed time.Time // when the last re-authentication began; zero: there was none
}

// NewSession returns the session of a new connection.
func (r *Rules) NewSession() *Session { return &Session{rules: r} }

// Take takes an input and says what to do about it. A Token that is good is told to Accept.
func (s *Session) Take(in Input, now time.Time) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(in, now)
}

// Accept takes Accepted: holder has authenticated, for so long (0: for good). Close: nothing was being checked.
func (s *Session) Accept(holder string, now time.Time) (lifetime time.Duration, v Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v = s.take(Accepted, now); v != Admit {
		return 0, v
	}
	s.holder = holder
	if s.rules.Lifetime > 0 {
		s.expires = now.Add(s.rules.Lifetime)
	}
	return s.rules.Lifetime, v
}

// take runs under mu.
func (s *Session) take(in Input, now time.Time) Verdict {
	step := s.rules.table[s.seen(now)][in]
	if step.verdict == Agree && s.holder != "" {
		s.renewed = now
	}
	s.state = step.next
	return step.verdict
}

// seen is the state at a time: who is ready may have to authenticate again, or be allowed to.
func (s *Session) seen(now time.Time) state {
	switch {
	case s.state != ready || s.expires.IsZero():
		return s.state
	case !now.Before(s.expires):
		return expired
	case s.renewed.IsZero() || now.Sub(s.renewed) >= minRenewal:
		return renewable
	}
	return ready
}

// ExpectsRawToken says that the next frame is a token without a request header.
func (s *Session) ExpectsRawToken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == awaitingRawToken
}

// Holder is who has authenticated, the last time if that was more than once; empty: nobody yet.
func (s *Session) Holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder
}
