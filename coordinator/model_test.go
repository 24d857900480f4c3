// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"
)

// RunModel lets random clients, half of them mad, loose on three groups over a store that is slow and fails at times, and
// checks the invariants of DESIGN.md after every step. TestModel runs it, in the outer package: on the store that it brings.
func RunModel(t *testing.T, seed uint64, steps int, store Store) {
	m := newModel(t, seed, store)
	for range steps {
		m.step()
	}
	m.finish()
}

// TestModelRepeats shows that nothing hangs on the order of maps: the same events have the same effects.
func TestModelRepeats(t *testing.T) {
	run := func() uint64 {
		m := newModel(t, 1, NewMemoryStore())
		for range 5_000 {
			m.step()
		}
		return m.log.Sum64()
	}
	if first, second := run(), run(); first != second {
		t.Errorf("two runs of the same events differ: %x, %x", first, second)
	}
}

const (
	modelClients    = 8
	modelPartitions = 6
)

var modelGroups = []string{"a", "b", "c"}

type model struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Time
	gs      *Groups
	store   Store
	clients [modelClients]modelClient
	waiting map[RequestID]modelRequest
	next    RequestID
	// queued are the writes that the store has not ended, per group in order.
	queued map[string][]Write
	// unsaved are groups of which a GroupSaved got lost since the last one that did not.
	unsaved map[string]bool
	// leaders are those that the generations' joins were answered with.
	leaders     map[modelGeneration]string
	generations map[string]int32
	// lives counts how often a group was Dead.
	lives map[string]int
	log   interface {
		Write([]byte) (int, error)
		Sum64() uint64
	}
	steps int
}

type modelGeneration struct {
	group      string
	life       int
	generation int32
}

type modelRequest struct {
	group  string
	client *modelClient
	event  Event
}

// modelClient is a client of one group at a time.
type modelClient struct {
	name, instance, group, memberID string
	generation                      int32
	others                          []JoinedMember
}

func newModel(t *testing.T, seed uint64, store Store) *model {
	cfg := DefaultConfig()
	cfg.MaxGroupSize, cfg.MaxMembers, cfg.MaxGroups = 5, 12, 2
	cfg.InitialRebalanceDelay = time.Second
	cfg.FirstJoinTimeout = 20 * time.Second
	cfg.OffsetsRetention, cfg.CheckInterval = 2*time.Minute, 20*time.Second
	if seed%2 == 0 {
		cfg.InitialRebalanceDelay, cfg.MaxGroups = 0, 3
	}
	m := &model{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(0, 0),
		gs: NewGroups(cfg), store: store,
		waiting: map[RequestID]modelRequest{}, queued: map[string][]Write{}, unsaved: map[string]bool{},
		leaders: map[modelGeneration]string{}, generations: map[string]int32{}, lives: map[string]int{},
		log: fnv.New64a(),
	}
	for i := range m.clients {
		m.clients[i].name = fmt.Sprint("c", i)
		m.clients[i].group = modelGroups[i%len(modelGroups)]
		if i < 3 {
			m.clients[i].instance = fmt.Sprint("i", i/2)
		}
	}
	return m
}

func (m *model) chance(percent int) bool { return m.rng.IntN(100) < percent }

func (m *model) seconds(from, to int) time.Duration {
	return time.Duration(from*1000+m.rng.IntN((to-from)*1000)) * time.Millisecond
}

// step does one thing and checks everything.
func (m *model) step() {
	m.steps++
	c := &m.clients[m.rng.IntN(modelClients)]
	switch p := m.rng.IntN(100); {
	case p < 25:
		m.join(c)
	case p < 45:
		m.sync(c)
	case p < 60:
		m.send(c, m.heartbeat(c))
	case p < 63:
		m.send(c, Leave{Request: m.next + 1, Members: []Identity{{c.memberID, ""}, {"", c.instance}}})
	case p < 68:
		m.send(c, m.commit(c))
	case p < 69:
		m.send(c, DeleteOffsets{Request: m.next + 1, Partitions: []TopicPartition{m.partition()}})
	case p < 70:
		m.perform(m.gs.DropTopic(m.now, DropTopic{Topic: m.partition().Topic}))
	case p < 71:
		m.send(c, Delete{Request: m.next + 1})
	case p < 72:
		c.group, c.memberID = modelGroups[m.rng.IntN(len(modelGroups))], ""
	case p < 88:
		m.endWrite(modelGroups[m.rng.IntN(len(modelGroups))])
	default:
		m.advance()
	}
	m.check()
}

func (m *model) send(c *modelClient, e Event) {
	m.next++
	m.waiting[m.next] = modelRequest{c.group, c, e}
	m.perform(m.gs.Step(m.now, c.group, e))
}

func (m *model) join(c *modelClient) {
	protocols := []Protocol{{"x", []byte{byte(m.rng.IntN(2))}}, {"y", nil}}
	if m.chance(20) {
		protocols = protocols[m.rng.IntN(2):]
	}
	memberID := c.memberID
	switch {
	case m.chance(15):
		memberID = ""
	case m.chance(3):
		memberID = "nobody"
	}
	m.send(c, Join{
		Request: m.next + 1, MemberID: memberID, InstanceID: c.instance, ClientID: c.name, Unique: fmt.Sprint(m.steps),
		SessionTimeout: m.seconds(6, 20), RebalanceTimeout: m.seconds(1, 30),
		ProtocolType: "consumer", Protocols: protocols, Topics: []string{"t0"},
		RequireMemberID: m.chance(70), SkipAssignment: m.chance(50),
	})
}

// sync assigns every partition to one of the members that the join's answer named.
func (m *model) sync(c *modelClient) {
	s := Sync{Request: m.next + 1, MemberID: c.memberID, InstanceID: c.instance, Generation: m.generation(c)}
	assigned := map[string][]byte{}
	if len(c.others) > 0 {
		for p := range byte(modelPartitions) {
			to := c.others[m.rng.IntN(len(c.others))].MemberID
			assigned[to] = append(assigned[to], p)
		}
	}
	for _, o := range c.others {
		s.Assignments = append(s.Assignments, Assignment{o.MemberID, assigned[o.MemberID]})
	}
	m.send(c, s)
}

func (m *model) generation(c *modelClient) int32 {
	if m.chance(5) {
		return c.generation - 1
	}
	return c.generation
}

func (m *model) heartbeat(c *modelClient) Heartbeat {
	return Heartbeat{Request: m.next + 1, MemberID: c.memberID, InstanceID: c.instance, Generation: m.generation(c)}
}

func (m *model) commit(c *modelClient) Commit {
	e := Commit{Request: m.next + 1, MemberID: c.memberID, InstanceID: c.instance, Generation: m.generation(c)}
	if m.chance(30) {
		e.MemberID, e.InstanceID, e.Generation = "", "", -1
	}
	for range m.rng.IntN(3) {
		e.Offsets = append(e.Offsets, OffsetCommit{TopicPartition: m.partition(), Offset: int64(m.steps)})
	}
	return e
}

func (m *model) partition() TopicPartition {
	return TopicPartition{fmt.Sprint("t", m.rng.IntN(2)), int32(m.rng.IntN(3))}
}

// advance lets time pass, mostly as a driver does, sometimes as one that slept.
func (m *model) advance() {
	until := m.now.Add(m.seconds(0, 4))
	if m.chance(2) {
		until = m.now.Add(m.seconds(1, 300))
	}
	for at, ok := m.gs.NextDeadline(); ok && !at.After(until) && m.chance(95); at, ok = m.gs.NextDeadline() {
		m.now = at
		m.perform(m.gs.Tick(m.now))
		m.check()
	}
	m.now = until
	m.perform(m.gs.Tick(m.now))
}

func (m *model) endWrite(group string) {
	if len(m.queued[group]) == 0 {
		return
	}
	w := m.queued[group][0]
	m.queued[group] = m.queued[group][1:]
	_, isSave := w.Changes[0].(GroupSaved)
	var err error
	if m.chance(10) {
		err = errors.New("disk full")
	} else {
		m.store.Append(group, w.Changes, func(err error) {
			if err != nil {
				m.fail("the store: %v", err)
			}
		})
	}
	if isSave {
		m.unsaved[group] = err != nil
	}
	m.perform(m.gs.Step(m.now, group, Written{w.ID, err}))
}

func (m *model) perform(effects []Effect) {
	for _, effect := range effects {
		fmt.Fprintln(m.log, effect)
		switch e := effect.(type) {
		case Reply:
			m.answered(e)
		case Write:
			m.queued[e.Group] = append(m.queued[e.Group], e)
		case StateChanged:
			if e.To == Dead {
				m.lives[e.Group]++
				m.generations[e.Group] = 0
			}
		}
	}
}

// answered checks an answer and lets the client, if it is still in that group, believe it.
func (m *model) answered(r Reply) {
	request, ok := m.waiting[r.Request]
	if !ok {
		m.t.Fatalf("step %d: request %d is answered, but does not wait: %v", m.steps, r.Request, r)
	}
	delete(m.waiting, r.Request)
	join, ok := r.Result.(JoinResult)
	if !ok {
		return
	}
	c := request.client
	if r.Err == nil {
		m.checkLeader(request.group, join)
	}
	if c.group != request.group {
		return
	}
	switch {
	case r.Err == nil:
		c.memberID, c.generation, c.others = join.MemberID, join.Generation, join.Members
	case errors.Is(r.Err, ErrMemberIDRequired):
		c.memberID = join.MemberID
	default:
		c.memberID = ""
	}
}

// finish ends all writes and waits: after that nobody may be without an answer.
func (m *model) finish() {
	for range 400 {
		for _, group := range modelGroups {
			m.endWrite(group)
		}
		m.now = m.now.Add(time.Second)
		m.perform(m.gs.Tick(m.now))
		m.check()
	}
	for id, r := range m.waiting {
		m.t.Errorf("request %d to group %s is never answered: %+v", id, r.group, r.event)
	}
}
