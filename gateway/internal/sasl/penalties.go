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

const (
	firstPenalty = 500 * time.Millisecond
	maxPenalty   = 30 * time.Second
	// forgiveness is how long after a penalty has ended it is forgotten. Who waits for that gains nothing over who tries
	// again at each end.
	forgiveness = 10 * time.Minute
	// maxPenalties bounds memory, to some 3 MiB: beyond it the penalty is dropped that was given longest ago.
	maxPenalties = 16384
)

// attempt is who tries to authenticate, and from where.
type attempt struct {
	from netip.Addr
	who  uint64 // a hash, so that each takes the same room
}

// penalties are who is not to be checked again so soon. It is safe for concurrent use.
type penalties struct {
	seed maphash.Seed

	mu     sync.Mutex
	byWho  map[attempt]*list.Element
	oldest *list.List // of *penalty: front: given longest ago
}

type penalty struct {
	attempt
	length time.Duration
	ends   time.Time
}

func newPenalties() *penalties {
	return &penalties{seed: maphash.MakeSeed(), byWho: map[attempt]*list.Element{}, oldest: list.New()}
}

// attempt names who tries: a user, or the secret of who says nothing else of himself. Such secrets cannot be guessed, and
// whoever shares an address with a wrong one should not suffer for it.
func (p *penalties) attempt(from netip.Addr, user string, secret []byte) attempt {
	var h maphash.Hash
	h.SetSeed(p.seed)
	h.WriteString(user)
	h.Write(secret)
	return attempt{from.Unmap().WithZone(""), h.Sum64()}
}

// pending says whether the attempt is to be refused without a check.
func (p *penalties) pending(a attempt, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byWho[a]
	return ok && now.Before(e.Value.(*penalty).ends)
}

// rejected notes that a check has failed.
func (p *penalties) rejected(a attempt, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgive(now)
	next := &penalty{attempt: a, length: firstPenalty}
	if e, ok := p.byWho[a]; ok {
		next.length = min(2*e.Value.(*penalty).length, maxPenalty)
		p.drop(e)
	} else if len(p.byWho) >= maxPenalties {
		p.drop(p.oldest.Front())
	}
	next.ends = now.Add(next.length)
	p.byWho[a] = p.oldest.PushBack(next)
}

// accepted forgets what the attempt has been penalized for.
func (p *penalties) accepted(a attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.byWho[a]; ok {
		p.drop(e)
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
	delete(p.byWho, p.oldest.Remove(e).(*penalty).attempt)
}

func (p *penalties) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byWho)
}
