// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import "sync"

// guesses are the passwords that are being checked, or wait for a slot. Of one user from one address there is one at a time, on
// however many connections: else whoever guesses would have as many guesses for each penalty as there are slots. The right one is not
// known before, and waits as well; but connections that have the same one do not wait for each other. It is safe for concurrent use.
type guesses struct {
	mu       sync.Mutex
	underway map[offence]*guess // by user
}

type guess struct {
	password offence
	attempts int           // with that password
	over     chan struct{} // closed when there are none
}

func newGuesses() *guesses { return &guesses{underway: map[offence]*guess{}} }

// begin begins an attempt, unless another password of its user is under way: then it returns what is closed when that one is over.
// Who has begun calls end.
func (g *guesses) begin(a attempt) (other <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.underway[a.user]
	if now == nil {
		now = &guess{password: a.password, over: make(chan struct{})}
		g.underway[a.user] = now
	}
	if now.password != a.password {
		return now.over
	}
	now.attempts++
	return nil
}

func (g *guesses) end(a attempt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.underway[a.user]
	if now.attempts--; now.attempts == 0 {
		delete(g.underway, a.user)
		close(now.over)
	}
}

func (g *guesses) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.underway)
}
