// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"slices"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
)

// underway is what a lane has taken from its queue and not finished, all of one session, in order: first the group, then those
// that wait. Its slices share nothing with each other or with the queue.
type underway struct {
	group   []*Append // they go out together
	waiting []*Append // no verdict yet
}

// deadline is when nobody waits for any of them any more.
func (u *underway) deadline() (latest time.Time) {
	for _, a := range u.waiting {
		if a.Deadline.After(latest) {
			latest = a.Deadline
		}
	}
	return latest
}

// anyIdempotent reports that the verdict on one of those that wait depends on what its producer has written.
func (u *underway) anyIdempotent() bool {
	return slices.ContainsFunc(u.waiting, func(a *Append) bool { return a.Producer.Idempotent })
}

// takeAll makes one group of all.
func (u *underway) takeAll() {
	u.group = append(u.group, u.waiting...)
	u.drop(len(u.waiting))
}

// take makes one group of those that are to be written, of the first n.
func (u *underway) take(n int) {
	for _, a := range u.waiting[:n] {
		if a.verdict == producerstate.Write {
			u.group = append(u.group, a)
		}
	}
	u.drop(n)
}

func (u *underway) drop(n int) { u.waiting = slices.Delete(u.waiting, 0, n) }

// putBack lets the group wait again, before the others.
func (u *underway) putBack() {
	u.waiting = slices.Insert(u.waiting, 0, u.group...)
	u.endGroup()
}

// endGroup is called when the group's batches are finished.
func (u *underway) endGroup() {
	clear(u.group)
	u.group = u.group[:0]
}
