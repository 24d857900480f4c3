// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is one thing that happens to a run.
type Fault struct {
	At    time.Duration // from the begin of the run
	Where Where
	Kind  Kind
	For   time.Duration // how long it lasts
	Cut   bool          // [Stall]: the connections are cut afterwards; else they go on. [Kill]: Lead before, so that answers are lost
	Lead  time.Duration
	Way   Way           // of the bytes
	Bytes int           // [Cut]: how many pass before
	Step  time.Duration // [Step]: how far the clock is off from then on
	Who   int           // [Members]: which one
}

// Where is what a fault happens to. Faults of one place come one after the other, those of different places at the same
// time.
type Where string

// The places.
const (
	Gateway Where = "gateway"
	Store   Where = "store"
	Clients Where = "clients-gateway" // the connections between them
	Iggy    Where = "gateway-store"
	Clock   Where = "clock"   // the gateway's wall clock
	Members Where = "members" // of the consumer group
)

// Kind is what happens.
type Kind string

// The kinds. The first three happen to programs, which are started again after Kill and Stop, the next six to
// connections.
const (
	Kill     Kind = "kill"
	Stop     Kind = "stop"
	Pause    Kind = "pause"
	Cut      Kind = "cut"       // the connections that there are
	Delay    Kind = "delay"     // every piece
	Stall    Kind = "stall"     // nothing goes on
	HalfOpen Kind = "half-open" // the far side goes, the near side is told only at the end
	Refuse   Kind = "refuse"    // the connections that there are, and new ones
	Late     Kind = "late"      // the near side loses its connections; what it had sent last arrives all the same, much later
	Step     Kind = "step"
	Replace  Kind = "replace" // one leaves, and another comes
)

// Way is a direction.
type Way string

// The ways of bytes. The client of a connection to a store is the gateway.
const (
	Requests Way = "requests"
	Answers  Way = "answers"
	Both     Way = "both"
)

func (w Way) includes(one Way) bool { return w == Both || w == one }

func (f Fault) String() string {
	text := fmt.Sprintf("%5.2fs %s %s", f.At.Seconds(), f.Where, f.Kind)
	switch f.Kind {
	case Cut:
		return text + fmt.Sprintf(" after %d bytes of %s", f.Bytes, f.Way)
	case Delay:
		return text + fmt.Sprintf(" %s by up to %v for %v", f.Way, time.Duration(f.Bytes)*time.Millisecond, f.For)
	case Stall:
		then := "go on"
		if f.Cut {
			then = "cut"
		}
		return text + fmt.Sprintf(" %s for %v, then %s", f.Way, f.For, then)
	case Step:
		return text + fmt.Sprintf(" to %v", f.Step)
	case Replace:
		return text + fmt.Sprintf(" %d after %v", f.Who, f.For)
	case Kill, Stop:
		if f.Cut {
			text += fmt.Sprintf(" %v after the clients' answers were cut", f.Lead)
		}
		return text + fmt.Sprintf(", start after %v", f.For)
	default:
		return text + fmt.Sprintf(" for %v", f.For)
	}
}

// drawFaults draws what happens everywhere. Where the store forgets, one thing happens at a time, and nothing that could
// hold back an answer until after the store has come back: it must be known what was told before.
func drawFaults(r *rand.Rand, topology Topology, length time.Duration) []Fault {
	var faults []Fault
	if topology.forgets() {
		return drawSeries(r, length, func() Fault { return drawForgetful(r) })
	}
	places := []Where{Gateway, Clients, Clock}
	if topology != Embedded {
		places = append(places, Store, Iggy)
	}
	for _, where := range places {
		if chance(r, 0.75) {
			faults = append(faults, drawSeries(r, length, func() Fault { return drawFault(r, where) })...)
		}
	}
	if len(faults) == 0 {
		return drawFaults(r, topology, length)
	}
	return sorted(faults)
}

func sorted(faults []Fault) []Fault {
	return slices.SortedStableFunc(slices.Values(faults), func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
}

// drawSeries draws faults one after the other, and peace between them.
func drawSeries(r *rand.Rand, length time.Duration, draw func() Fault) []Fault {
	var faults []Fault
	for at := between(r, 300*time.Millisecond, 2500*time.Millisecond); at < length; at += between(r, 300*time.Millisecond, 3*time.Second) {
		f := draw()
		f.At = at
		faults = append(faults, f)
		at += f.For
	}
	return faults
}

// callTimeout is how long the gateway waits for an answer of the store.
const callTimeout = 10 * time.Second

// lateLimit is how late the gateway expects a request that it has sent to the store to be executed, the connection being
// lost and the store answering others: bridge, settle. Nobody can tell that it never will be.
const lateLimit = 700 * time.Millisecond

func drawFault(r *rand.Rand, where Where) Fault {
	f := Fault{Where: where}
	switch where {
	case Gateway, Store:
		f.Kind = pick(r, Kill, Kill, Stop, Pause, Pause)
		f.For = between(r, 0, 800*time.Millisecond)
		if f.Kind == Pause {
			f.For = drawPause(r)
		}
	case Clock:
		f.Kind, f.Step = Step, between(r, -3*time.Hour, 3*time.Hour)
	default:
		f.Kind = pick(r, Cut, Cut, Delay, Stall, Stall, HalfOpen, Refuse, Late, Late)
		f.Way = pick(r, Requests, Answers, Answers, Both)
		switch f.Kind {
		case Cut:
			f.Bytes = r.IntN(1 << r.IntN(16))
		case Delay:
			f.Bytes, f.For = 1+r.IntN(100), between(r, 500*time.Millisecond, 3*time.Second)
		case Stall:
			f.For, f.Cut = drawPause(r), chance(r, 0.5)
		case HalfOpen:
			f.For = between(r, 200*time.Millisecond, 5*time.Second)
		case Late:
			f.For = between(r, 50*time.Millisecond, 5*time.Second)
			if where == Iggy {
				f.For = between(r, 50*time.Millisecond, lateLimit)
			}
		default:
			f.For = between(r, 200*time.Millisecond, 2*time.Second)
		}
	}
	return f
}

// drawPause draws how long a silence lasts: now and then longer than the gateway waits for an answer.
func drawPause(r *rand.Rand) time.Duration {
	if chance(r, 0.1) {
		return callTimeout + between(r, 100*time.Millisecond, 1500*time.Millisecond)
	}
	return between(r, 50*time.Millisecond, 3*time.Second)
}

func drawForgetful(r *rand.Rand) Fault {
	switch r.IntN(6) {
	case 0:
		return Fault{Where: Gateway, Kind: pick(r, Kill, Stop), For: between(r, 0, 500*time.Millisecond)}
	case 1:
		return Fault{Where: pick(r, Clients, Iggy), Kind: Cut, Way: pick(r, Requests, Answers), Bytes: r.IntN(1 << r.IntN(16))}
	case 2:
		return Fault{Where: Store, Kind: pick(r, Stop, Pause), For: between(r, 0, time.Second)}
	default: // what was written and not answered is sent again, to a store that may not have it any more
		return Fault{Where: Store, Kind: Kill, For: between(r, 0, 500*time.Millisecond), Cut: chance(r, 0.5), Lead: between(r, 0, 50*time.Millisecond)}
	}
}
