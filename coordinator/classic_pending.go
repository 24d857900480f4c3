// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"slices"
	"time"
)

// pendingID is a member id given out with ErrMemberIDRequired (KIP-394) and not claimed yet.
type pendingID struct {
	id        string
	expiresAt time.Time
}

func (g *Group) indexPending(id string) int {
	return slices.IndexFunc(g.pending, func(p pendingID) bool { return p.id == id })
}

// dropPending forgets an unclaimed id and says whether it knew it.
func (g *Group) dropPending(id string) bool {
	i := g.indexPending(id)
	if i < 0 {
		return false
	}
	g.pending = slices.Delete(g.pending, i, i+1)
	g.usage.members--
	return true
}

func (g *Group) expirePending(now time.Time, id string) {
	g.dropPending(id)
	g.emit(MemberRemoved{Group: g.id, MemberID: id, Reason: "never joined with its id"})
	g.completeJoinIfAllJoined(now)
}
