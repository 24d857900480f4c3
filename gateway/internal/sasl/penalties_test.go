// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestPenaltiesDouble(t *testing.T) {
	p, now := newPenalties(), epoch()
	a := p.attempt(addr("10.0.0.1"), "alice", nil)
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
	p.rejected(p.attempt(addr("10.0.0.1"), "alice", nil), now)
	for name, test := range map[string]struct {
		attempt attempt
		want    bool
	}{
		"the same":            {p.attempt(addr("10.0.0.1"), "alice", nil), true},
		"as IPv6":             {p.attempt(addr("::ffff:10.0.0.1"), "alice", nil), true},
		"another address":     {p.attempt(addr("10.0.0.2"), "alice", nil), false},
		"another user":        {p.attempt(addr("10.0.0.1"), "bob", nil), false},
		"another letter case": {p.attempt(addr("10.0.0.1"), "Alice", nil), false},
		"a secret":            {p.attempt(addr("10.0.0.1"), "alice", []byte("x")), false},
	} {
		if got := p.pending(test.attempt, now); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPenaltiesAreForgiven(t *testing.T) {
	p, now := newPenalties(), epoch()
	old := p.attempt(addr("10.0.0.1"), "alice", nil)
	p.rejected(old, now)
	p.rejected(p.attempt(addr("10.0.0.1"), "bob", nil), now.Add(firstPenalty+forgiveness-1))
	if p.len() != 2 {
		t.Errorf("%d are kept", p.len())
	}
	p.rejected(p.attempt(addr("10.0.0.1"), "carol", nil), now.Add(firstPenalty+forgiveness))
	if p.len() != 2 {
		t.Errorf("%d are kept", p.len())
	}
	now = now.Add(forgiveness + time.Second)
	p.rejected(old, now)
	if p.pending(old, now.Add(firstPenalty)) {
		t.Error("what was forgiven is doubled")
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
		last = p.attempt(from, "root", nil)
		p.rejected(last, now)
		now = now.Add(time.Microsecond)
	}
	if n := p.len(); n != maxPenalties || p.oldest.Len() != n {
		t.Errorf("%d penalties, %d in order", n, p.oldest.Len())
	}
	if !p.pending(last, now) {
		t.Error("the last one is not penalized")
	}
	if p.pending(p.attempt(addr("192.0.2.1"), "root", nil), now) {
		t.Error("somebody else is penalized")
	}
}
