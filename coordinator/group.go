// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is where a group stands.
type State uint8

// The states of a classic group. DESIGN.md draws how they follow each other.
const (
	// Dead: there is no such group, or no longer.
	Dead State = iota
	// Empty: no members, but offsets, or a generation to go on from, or ids that nobody has claimed yet.
	Empty
	// PreparingRebalance: members join; their joins wait for each other.
	PreparingRebalance
	// CompletingRebalance: the members of the generation are known, the leader's assignment is not.
	CompletingRebalance
	// Stable: members work on their assignments.
	Stable
)

func (s State) String() string {
	return [...]string{"Dead", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}[s]
}

// Group is one group: a state machine without clock, goroutines or I/O. It is not safe for concurrent use. A new Group is
// Dead and comes to life with the first event that makes it.
type Group struct {
	id    string
	cfg   *Config
	usage *usage

	state                  State
	generation             int32
	protocolType, protocol string
	emptySince             time.Time

	// members are in the order of joining; the two maps index them, byInstance the static ones only.
	members    []*member
	byID       map[string]*member
	byInstance map[string]*member
	// leader is nil until the first join of all completes, and after it has gone.
	leader  *member
	pending []pendingID

	// joinBy ends the gathering of joins and syncBy that of syncs, checkAt is when to look for what has expired. Zero
	// times mean never.
	joinBy, syncBy, checkAt time.Time
	initial                 *initialDelay
	// assigning is set while the leader's assignment is being written.
	assigning bool

	offsets map[TopicPartition]Offset
	// topics counts the offsets of each topic: most groups have none of a topic that is dropped.
	topics map[string]int

	// lastSave is the last of the writes that was a GroupSaved.
	lastWrite, lastSave WriteID
	// unwritten are the writes under way, in their order.
	unwritten []unwritten

	// wakeAt is not later than the first deadline, and zero if there is none. Most deadlines are put off again and again
	// before they come, so it is allowed to be early: finding the exact one would cost a walk per heartbeat.
	wakeAt  time.Time
	effects []Effect
}

// usage is what all groups together hold.
type usage struct{ groups, members, offsets int }

// NewGroup returns a group that is not there yet. The configuration must be valid and not change.
func NewGroup(id string, cfg *Config) *Group {
	return newGroup(id, cfg, new(usage))
}

func newGroup(id string, cfg *Config, u *usage) *Group {
	return &Group{
		id: id, cfg: cfg, usage: u,
		byID:       map[string]*member{},
		byInstance: map[string]*member{},
		offsets:    map[TopicPartition]Offset{},
		topics:     map[string]int{},
	}
}

// State returns the state at the last Step or Tick.
func (g *Group) State() State { return g.state }

// Generation returns the generation, 0 before the first one. It only grows.
func (g *Group) Generation() int32 { return g.generation }

// NextDeadline returns the time at which Tick wants to be called. It is not later than the first thing that falls due,
// but may be earlier. ok is false if there is nothing to wait for.
func (g *Group) NextDeadline() (at time.Time, ok bool) { return g.wakeAt, !g.wakeAt.IsZero() }

// Step applies what fell due until now, then the event, and returns what has to be done about it. Time must not run
// backwards from call to call. The effects are the caller's.
func (g *Group) Step(now time.Time, event Event) []Effect {
	g.fireDue(now)
	switch e := event.(type) {
	case Join:
		g.join(now, &e)
	case Sync:
		g.sync(now, &e)
	case Heartbeat:
		g.heartbeat(now, &e)
	case Leave:
		g.leave(now, &e)
	case Commit:
		g.commit(now, &e)
	case DeleteOffsets:
		g.deleteOffsets(&e)
	case DropTopic:
		g.dropTopic(&e)
	case Delete:
		g.delete(&e)
	case Written:
		g.written(now, e)
	default:
		panic(fmt.Sprintf("coordinator: %T is no event; events are values", event))
	}
	return g.Tick(now)
}

// Tick applies what fell due until now.
func (g *Group) Tick(now time.Time) []Effect {
	g.fireDue(now)
	effects := g.effects
	g.effects = nil
	return effects
}

// gone says that nothing would be lost with this Group.
func (g *Group) gone() bool { return g.state == Dead && len(g.unwritten) == 0 }

func (g *Group) emit(e Effect) { g.effects = append(g.effects, e) }

func (g *Group) reply(to RequestID, result Result, err error) {
	g.emit(Reply{Request: to, Result: result, Err: err})
}

func (g *Group) moveTo(s State, reason string) {
	g.emit(StateChanged{Group: g.id, From: g.state, To: s, Generation: g.generation, Reason: reason})
	switch {
	case g.state == Dead:
		g.usage.groups++
	case s == Dead:
		g.usage.groups--
	}
	g.state = s
}

// create brings a Dead group to life. Others are left alone.
func (g *Group) create(now time.Time, reason string) {
	if g.state == Dead {
		g.moveTo(Empty, reason)
		g.checkAt = g.wake(now.Add(g.cfg.CheckInterval))
	}
}

// mayCreate refuses a group more than there may be.
func (g *Group) mayCreate() error {
	if g.state == Dead && g.usage.groups >= g.cfg.MaxGroups {
		return fmt.Errorf("%w: %d groups", ErrNotAvailable, g.usage.groups)
	}
	return nil
}

// unwritten is a Write under way, and what to do at its end.
type unwritten struct {
	Write
	end func(now time.Time, err error)
}

// write asks for changes and calls end when their fate is known.
func (g *Group) write(end func(now time.Time, err error), changes ...Change) {
	g.lastWrite++
	w := Write{Group: g.id, ID: g.lastWrite, Changes: changes}
	g.unwritten = append(g.unwritten, unwritten{w, end})
	g.emit(w)
}

func (g *Group) written(now time.Time, e Written) {
	i := slices.IndexFunc(g.unwritten, func(w unwritten) bool { return w.ID == e.ID })
	if i < 0 {
		return
	}
	w := g.unwritten[i]
	g.unwritten = slices.Delete(g.unwritten, i, i+1)
	err := e.Err
	if err != nil && !errors.Is(err, ErrNotCoordinator) {
		err = fmt.Errorf("%w: %w", ErrNotAvailable, err)
	}
	w.end(now, err)
}
