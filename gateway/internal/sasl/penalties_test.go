// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestPenaltiesDouble(t *testing.T) {
	p, now := newPenalties(), epoch()
	a := p.attempt(addr("10.0.0.1"), "alice", []byte("wrong"), false)
	if p.pending(a, now) {
		t.Error("before anything happened")
	}
	for i, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000} {
		want *= time.Millisecond
		p.rejected(a, now)
		if !p.pending(a, now) || !p.pending(a, now.Add(want-1)) || p.pending(a, now.Add(want)) {
			t.Errorf("rejection %d: not %v", i+1, want)
		}
		now = now.Add(want)
	}
	p.accepted(a)
	p.rejected(a, now)
	if p.pending(a, now.Add(firstPenalty)) {
		t.Error("success has not cleared it")
	}
}

func TestPenaltiesAreOnesOwn(t *testing.T) {
	p, now := newPenalties(), epoch()
	p.rejected(p.attempt(addr("10.0.0.1"), "alice", []byte("wrong"), false), now)
	p.rejected(p.attempt(addr("2001:db8:0:1::1"), "alice", []byte("wrong"), false), now) // an address of a network of one's own
	for name, test := range map[string]struct {
		attempt attempt
		want    bool
	}{
		"the same":            {p.attempt(addr("10.0.0.1"), "alice", []byte("wrong"), false), true},
		"as IPv6":             {p.attempt(addr("::ffff:10.0.0.1"), "alice", []byte("wrong"), false), true},
		"the same network":    {p.attempt(addr("2001:db8:0:1::99"), "alice", []byte("x"), false), true},
		"another network":     {p.attempt(addr("2001:db8:0:2::1"), "alice", []byte("wrong"), false), false},
		"another address":     {p.attempt(addr("10.0.0.2"), "alice", []byte("wrong"), false), false},
		"another user":        {p.attempt(addr("10.0.0.1"), "bob", []byte("wrong"), false), false},
		"another letter case": {p.attempt(addr("10.0.0.1"), "Alice", []byte("wrong"), false), false},
		"another password":    {p.attempt(addr("10.0.0.1"), "alice", []byte("x"), false), true},
		"who is told by it":   {p.attempt(addr("10.0.0.1"), "alice", []byte("x"), true), false},
	} {
		if got := p.pending(test.attempt, now); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPenaltiesAreForgiven(t *testing.T) {
	p, now := newPenalties(), epoch()
	old := p.attempt(addr("10.0.0.1"), "alice", []byte("wrong"), false)
	p.rejected(old, now)
	p.rejected(p.attempt(addr("10.0.0.1"), "bob", []byte("wrong"), false), now.Add(firstPenalty+forgiveness-1))
	if p.len() != 4 { // the user's and the password's, of two users
		t.Errorf("%d are kept", p.len())
	}
	p.rejected(p.attempt(addr("10.0.0.1"), "carol", []byte("wrong"), false), now.Add(firstPenalty+forgiveness))
	if p.len() != 4 {
		t.Errorf("%d are kept", p.len())
	}
	now = now.Add(forgiveness + time.Second)
	p.rejected(old, now)
	if p.pending(old, now.Add(firstPenalty)) {
		t.Error("what was forgiven is doubled")
	}
}

// Who goes on with one wrong password keeps others out of the same user and address for the first penalty alone, and is itself
// checked less and less.
func TestPenaltiesOfAnOldPassword(t *testing.T) {
	p, now := newPenalties(), epoch()
	old := p.attempt(addr("10.0.0.1"), "alice", []byte("old"), false)
	other := p.attempt(addr("10.0.0.1"), "alice", []byte("new"), false)
	p.rejected(old, now)
	if !p.pending(other, now.Add(firstPenalty-1)) || p.pending(other, now.Add(firstPenalty)) {
		t.Error("the first refusal is not everybody's for the first penalty")
	}
	now = now.Add(firstPenalty)
	for _, want := range []time.Duration{1000, 2000, 4000, 8000, 16000, 30000, 30000} {
		want *= time.Millisecond
		p.rejected(old, now)
		if !p.pending(old, now.Add(want-1)) || p.pending(old, now.Add(want)) {
			t.Errorf("the old password is not refused for %v", want)
		}
		if p.pending(other, now) {
			t.Error("another one is refused as well")
		}
		p.accepted(other)
		now = now.Add(want)
	}
	p.rejected(old, now)
	if p.accepted(other); !p.pending(old, now.Add(maxPenalty-1)) {
		t.Error("a right password has made the old one good")
	}
}

// Who guesses tries one password for each penalty, and these double.
func TestPenaltiesOfGuesses(t *testing.T) {
	p, now := newPenalties(), epoch()
	tries := 0
	for began := now; now.Sub(began) < time.Hour; now = now.Add(50 * time.Millisecond) {
		if guess := p.attempt(addr("10.0.0.1"), "alice", binary.BigEndian.AppendUint64(nil, uint64(tries)), false); !p.pending(guess, now) {
			p.rejected(guess, now)
			tries++
		}
	}
	if tries < 100 || tries > 130 {
		t.Errorf("%d guesses in an hour", tries)
	}
}

// However many addresses and users there are, memory is bounded, and the newest penalties are kept.
func TestPenaltiesAreBounded(t *testing.T) {
	p, now := newPenalties(), epoch()
	const tries = 10 * maxPenalties
	var last attempt
	for i := range tries {
		ip := binary.BigEndian.AppendUint32(nil, uint32(127<<24+i))
		from, _ := netip.AddrFromSlice(ip)
		last = p.attempt(from, "root", []byte("wrong"), false)
		p.rejected(last, now)
		now = now.Add(time.Microsecond)
	}
	ordered := 0
	for degree := range p.given {
		ordered += p.given[degree].Len()
	}
	if n := p.len(); n != maxPenalties || ordered != n {
		t.Errorf("%d penalties, %d in order", n, ordered)
	}
	if !p.pending(last, now) {
		t.Error("the last one is not penalized")
	}
	if p.pending(p.attempt(addr("192.0.2.1"), "root", []byte("wrong"), false), now) {
		t.Error("somebody else is penalized")
	}
}

// Refusals of users that there need not be, however many, do not end the penalty of one that is guessed, nor make its next one
// shorter.
func TestLongPenaltiesStay(t *testing.T) {
	p, now := newPenalties(), epoch()
	guesses := 0
	guess := func() attempt {
		guesses++
		return p.attempt(addr("10.0.0.1"), "alice", binary.BigEndian.AppendUint64(nil, uint64(guesses)), false)
	}
	flood := func() {
		for i := range maxPenalties {
			p.rejected(p.attempt(addr("10.0.0.1"), "nobody", binary.BigEndian.AppendUint64(nil, uint64(i)), false), now)
			p.rejected(p.attempt(addr("10.0.0.1"), fmt.Sprint("nobody", i), []byte("x"), false), now)
		}
	}
	for range degrees {
		p.rejected(guess(), now)
		now = now.Add(maxPenalty)
	}
	for range 2 {
		p.rejected(guess(), now)
		flood()
		if a := guess(); !p.pending(a, now.Add(maxPenalty-1)) || p.pending(a, now.Add(maxPenalty)) {
			t.Error("the penalty is not the longest any more")
		}
		now = now.Add(maxPenalty)
	}
}

// Where all are of one length, the one that was given first makes room.
func TestOldestPenaltyMakesRoom(t *testing.T) {
	p, now := newPenalties(), epoch()
	who := func(i int) attempt { return p.attempt(from(i), "alice", []byte("wrong"), true) }
	for i := range maxPenalties + 1 {
		p.rejected(who(i), now)
	}
	if p.pending(who(0), now) || !p.pending(who(1), now) || !p.pending(who(maxPenalties), now) {
		t.Error("another one than the oldest was dropped")
	}
}
