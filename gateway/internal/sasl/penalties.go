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
	// degrees is how often a penalty becomes longer, and once more: 0.5 s, 1 s, 2 s, 4 s, 8 s, 16 s, 30 s.
	degrees = 7
	// forgiveness is how long after a penalty has ended it is forgotten. Who waits for that gains nothing over who tries
	// again at each end.
	forgiveness = 10 * time.Minute
	// maxPenalties bounds memory, to some 6 MiB. Beyond it the shortest penalty is dropped, and of those the one that was given
	// longest ago. So a penalty is dropped early only when all the others are as long: for the longest that takes some 200,000
	// refusals, each pair of user and password needing 13, and as many again once these are forgiven.
	maxPenalties = 32768
)

// network is where somebody comes from: an address, and of IPv6 the 64 bits in front of it, behind which everybody has as many
// addresses as he likes.
func network(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		return netip.PrefixFrom(addr, 64).Masked().Addr()
	}
	return addr
}

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
	given  [degrees]list.List // of *penalty, by degree; front: given, and ends, first
}

type penalty struct {
	offence
	degree int
	ends   time.Time
}

func newPenalties() *penalties {
	return &penalties{seed: maphash.MakeSeed(), byWhat: map[offence]*list.Element{}}
}

// attempt names who tries. telling says that the password alone says who that is: such passwords cannot be guessed, and whoever
// shares an address with a wrong one should not suffer for it.
func (p *penalties) attempt(from netip.Addr, user string, password []byte, telling bool) attempt {
	from = network(from)
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

// penalize runs under mu, as do makeRoom, forgive and drop.
func (p *penalties) penalize(o offence, now time.Time) {
	next := &penalty{offence: o}
	if e, ok := p.byWhat[o]; ok {
		next.degree = min(e.Value.(*penalty).degree+1, degrees-1)
		p.drop(e)
	} else if len(p.byWhat) >= maxPenalties {
		p.makeRoom()
	}
	next.ends = now.Add(min(firstPenalty<<next.degree, maxPenalty))
	p.byWhat[o] = p.given[next.degree].PushBack(next)
}

func (p *penalties) makeRoom() {
	for degree := range p.given {
		if e := p.given[degree].Front(); e != nil {
			p.drop(e)
			return
		}
	}
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

// forgive drops what is long over.
func (p *penalties) forgive(now time.Time) {
	for degree := range p.given {
		for e := p.given[degree].Front(); e != nil && now.Sub(e.Value.(*penalty).ends) >= forgiveness; e = p.given[degree].Front() {
			p.drop(e)
		}
	}
}

func (p *penalties) drop(e *list.Element) {
	gone := e.Value.(*penalty)
	p.given[gone.degree].Remove(e)
	delete(p.byWhat, gone.offence)
}

func (p *penalties) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byWhat)
}
