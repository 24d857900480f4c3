// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// groupID is the group's; each run has an Iggy of its own.
const groupID = "soak-group"

// memberLimit is how long a member may take to leave: Java's commits wait for a minute.
const memberLimit = 75 * time.Second

// members are those of the consumer group.
type members struct {
	scene *scene
	plans []ConsumerPlan
	stops []func(context.Context) error // of those that run, by index

	mu     sync.Mutex
	events []GroupEvent
	next   []int64 // by partition: the highest that was read, and one
	came   int     // how many members there have been: each has a name of its own
}

func startMembers(s *scene, plans []ConsumerPlan) (*members, error) {
	m := &members{scene: s, plans: plans, stops: make([]func(context.Context) error, len(plans)), next: make([]int64, s.partitions)}
	for i := range plans {
		if err := m.start(i); err != nil {
			return m, err
		}
	}
	return m, nil
}

// start starts the member with an index.
func (m *members) start(i int) (err error) {
	library := m.plans[i].Library
	name := m.name(library)
	config := group.Config{
		Broker: m.scene.addr, Group: groupID, Topic: m.scene.topic, Assignor: group.Range,
		// Longer than any silence, in which members are not heard either.
		SessionTimeoutMs: 25_000, HeartbeatMs: 1000,
	}
	told := func(e group.Event) { m.told(name, e) }
	member, within := map[Library]func(context.Context, group.Config, func(group.Event)) error{
		FranzGo: group.RunFranz, Sarama: group.RunSarama, KafkaGo: group.RunKafkaGo,
	}[library]
	if !within {
		programs := group.Programs()
		p := slices.IndexFunc(programs, func(p group.Program) bool { return p.Client == string(library) && p.Assignor == config.Assignor })
		program, err := programs[p].Start(clientsFolder, config, told)
		if err == nil {
			m.stops[i] = program.Stop
		}
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // sarama does not begin while it reaches nobody, and cannot leave either
			if err := member(ctx, config, told); err != nil {
				told(group.Event{Kind: group.Failed, Error: err.Error()})
			}
			told(group.Event{Kind: group.Closed})
			_ = sleep(ctx, retryWait)
		}
	}()
	m.stops[i] = func(ctx context.Context) error {
		cancel()
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("member %s does not end: %w", name, context.Cause(ctx))
		}
	}
	return nil
}

// replace has a member leave and another one come after a while.
func (m *members) replace(ctx context.Context, i int, after time.Duration) error {
	leaving, cancel := context.WithTimeoutCause(ctx, memberLimit, errNotAtRest)
	defer cancel()
	stop := m.stops[i]
	m.stops[i] = nil
	return errors.Join(stop(leaving), sleep(ctx, after), m.start(i))
}

func (m *members) name(library Library) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.came++
	return fmt.Sprintf("%s-%d", library, m.came)
}

func (m *members) told(name string, e group.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, GroupEvent{Member: name, At: m.scene.now(), Event: e})
	if e.Kind == group.Record {
		m.next[e.Partition] = max(m.next[e.Partition], e.Offset+1)
	}
}

// reached tells whether they have read up to the ends, or further: what was lost then.
func (m *members) reached(ends []int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, end := range ends {
		if m.next[p] < end {
			return false
		}
	}
	return true
}

func (m *members) position() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint(m.next)
}

// stop has all members leave, those that still run.
func (m *members) stop(ctx context.Context) error {
	running := slices.DeleteFunc(m.stops, func(stop func(context.Context) error) bool { return stop == nil })
	m.stops = nil
	return errors.Join(eachOf(running, func(stop func(context.Context) error) error { return stop(ctx) })...)
}
