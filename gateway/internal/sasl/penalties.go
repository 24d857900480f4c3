// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"container/list"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Whoever is refused is not checked again so soon. Two things are penalized: the password, for that user from that address, each
// time it is refused; and the user from that address, whatever the password, each time it is refused with one that was not
// before. So whoever guesses tries a password per penalty, which is 30 s soon; and a client that goes on and on with a password
// that was right once is checked as seldom, but keeps nobody else out who shares its address and user and knows the right one: for
// those the user's penalty is that of the one first refusal.

const (
	firstPenalty = 500 * time.Millisecond
	maxPenalty   = 30 * time.Second
	// forgiveness is how long after a penalty has ended it is forgotten. Who waits for that gains nothing over who tries
	// again at each end.
	forgiveness = 10 * time.Minute
	// maxPenalties bounds memory, to some 6 MiB: beyond it the penalty is dropped that was given longest ago.
	maxPenalties = 32768
)

// offence is what a penalty is for.
type offence struct {
	from netip.Addr
	what uint64 // a hash, so that each takes the same room and no password is kept
}

// attempt is who tries to authenticate, from where, and with which password. For a user whose passwords say who it is the two are
// the same.
type attempt struct{ user, password offence }

// penalties are who is not to be checked again so soon. It is safe for concurrent use.
type penalties struct {
	seed maphash.Seed

	mu     sync.Mutex
	byWhat map[offence]*list.Element
	oldest *list.List // of *penalty: front: given longest ago
}

type penalty struct {
	offence
	length time.Duration
	ends   time.Time
}

func newPenalties() *penalties {
	return &penalties{seed: maphash.MakeSeed(), byWhat: map[offence]*list.Element{}, oldest: list.New()}
}

// attempt names who tries. telling says that the password alone says who that is: such passwords cannot be guessed, and whoever
// shares an address with a wrong one should not suffer for it.
func (p *penalties) attempt(from netip.Addr, user string, password []byte, telling bool) attempt {
	from = from.Unmap().WithZone("")
	var h maphash.Hash
	h.SetSeed(p.seed)
	h.WriteString(user)
	a := attempt{user: offence{from, h.Sum64()}}
	h.WriteByte(0) // is in no name
	h.Write(password)
	a.password = offence{from, h.Sum64()}
	if telling {
		a.user = a.password
	}
	return a
}

// pending says whether the attempt is to be refused without a check.
func (p *penalties) pending(a attempt, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range [...]offence{a.user, a.password} {
		if e, ok := p.byWhat[o]; ok && now.Before(e.Value.(*penalty).ends) {
			return true
		}
	}
	return false
}

// rejected notes that a check has failed.
func (p *penalties) rejected(a attempt, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgive(now)
	_, known := p.byWhat[a.password]
	p.penalize(a.password, now)
	if !known && a.user != a.password {
		p.penalize(a.user, now)
	}
}

// penalize runs under mu.
func (p *penalties) penalize(o offence, now time.Time) {
	next := &penalty{offence: o, length: firstPenalty}
	if e, ok := p.byWhat[o]; ok {
		next.length = min(2*e.Value.(*penalty).length, maxPenalty)
		p.drop(e)
	} else if len(p.byWhat) >= maxPenalties {
		p.drop(p.oldest.Front())
	}
	next.ends = now.Add(next.length)
	p.byWhat[o] = p.oldest.PushBack(next)
}

// accepted forgets what the attempt's user has been penalized for; passwords that were wrong stay so.
func (p *penalties) accepted(a attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range [...]offence{a.user, a.password} {
		if e, ok := p.byWhat[o]; ok {
			p.drop(e)
		}
	}
}

// forgive drops what is long over. A longer penalty may keep shorter ones behind it waiting: it holds 30 s more of them at
// most.
func (p *penalties) forgive(now time.Time) {
	for e := p.oldest.Front(); e != nil; e = p.oldest.Front() {
		if now.Sub(e.Value.(*penalty).ends) < forgiveness {
			return
		}
		p.drop(e)
	}
}

func (p *penalties) drop(e *list.Element) {
	delete(p.byWhat, p.oldest.Remove(e).(*penalty).offence)
}

func (p *penalties) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byWhat)
}
