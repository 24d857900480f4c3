// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"time"
)

// A deadline is something that will happen unless it is put off. The kinds are listed in the order in which they
// happen when they fall due at the same time.
type deadline struct {
	at   time.Time
	kind deadlineKind
	id   string
}

type deadlineKind uint8

const (
	pendingExpires deadlineKind = iota
	memberExpires
	joinEnds
	syncEnds
	checkDue
)

// wake makes sure that NextDeadline is not later than at, and returns it.
func (g *Group) wake(at time.Time) time.Time {
	if g.wakeAt.IsZero() || at.Before(g.wakeAt) {
		g.wakeAt = at
	}
	return at
}

// fireDue lets everything happen that falls due until now, the earliest first. New deadlines that come of it count
// from now.
func (g *Group) fireDue(now time.Time) {
	for !g.wakeAt.IsZero() && !g.wakeAt.After(now) {
		first := g.firstDeadline()
		g.wakeAt = first.at
		if first.at.IsZero() || first.at.After(now) {
			return
		}
		switch first.kind {
		case pendingExpires:
			g.expirePending(now, first.id)
		case memberExpires:
			g.removeMembers(now, "session expired", g.byID[first.id])
		case joinEnds:
			g.endJoin(now)
		case syncEnds:
			g.endSync(now)
		case checkDue:
			g.check(now)
		}
	}
}

// firstDeadline returns the earliest deadline, or one with a zero time.
func (g *Group) firstDeadline() deadline {
	var first deadline
	consider := func(d deadline) {
		if d.at.IsZero() {
			return
		}
		if first.at.IsZero() || cmp.Or(d.at.Compare(first.at), cmp.Compare(d.kind, first.kind)) < 0 {
			first = d
		}
	}
	for _, p := range g.pending {
		consider(deadline{p.expiresAt, pendingExpires, p.id})
	}
	for _, m := range g.members {
		consider(deadline{m.expiresAt, memberExpires, m.id})
	}
	consider(deadline{at: g.joinBy, kind: joinEnds})
	consider(deadline{at: g.syncBy, kind: syncEnds})
	consider(deadline{at: g.checkAt, kind: checkDue})
	return first
}
