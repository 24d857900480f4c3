// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

// TestModel lets commits loose on a log whose storage fails in every way it can: appends that are refused, unanswered, late
// or cut, tails that are lost, and gateways that start while others run. Whenever the storage has been well for a while,
// a gateway that starts must find just what was acknowledged.
func TestModel(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newModel(t, seed).run() })
		})
	}
}

type model struct {
	t       *testing.T
	rng     *rand.Rand
	storage *statelogtest.Storage
	gateway *gateway
	boots   int
	next    int64

	mu      sync.Mutex
	acked   map[string]int64 // guarded by mu; group/topic/partition -> position
	pending int              // guarded by mu
	// perhaps has, of each key, what changes that failed after the last one that was acknowledged would have made it, 0 for
	// nothing.
	perhaps map[string][]int64 // guarded by mu
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 0)), storage: statelogtest.New(1), acked: map[string]int64{}, perhaps: map[string][]int64{}}
	m.storage.Delay = time.Millisecond
	m.start()
	return m
}

func (m *model) start() {
	m.boots++
	m.gateway = startGateway(m.t, m.storage, fmt.Sprint("boot ", m.boots), func(c *statelog.Config) {
		c.CheckpointRecords, c.MaxMessage, c.MaxBatch = 20, 256, 2000
	})
}

func (m *model) run() {
	for range 300 {
		switch p := m.rng.IntN(100); {
		case p < 50:
			m.change()
		case p < 60:
			fault := statelogtest.Fault(m.rng.IntN(5))
			m.storage.FailNext(1+m.rng.IntN(3), fault)
		case p < 65:
			m.storage.Down(true)
			time.Sleep(time.Duration(m.rng.IntN(3000)) * time.Millisecond)
			m.storage.Down(false)
		case p < 70:
			m.storage.Arrive()
		case p < 74:
			m.storage.Lose(0, m.rng.IntN(30))
		case p < 90:
			time.Sleep(time.Duration(m.rng.IntN(1500)) * time.Millisecond)
		case p < 95:
			m.settle()
		case p < 98:
			m.replace()
		default:
			m.crash()
		}
	}
	m.settle()
	if err := m.gateway.stop(); err != nil {
		m.t.Errorf("Run: %v", err)
	}
}

// change commits or removes an offset, or a whole group, without waiting.
func (m *model) change() {
	tp := coordinator.TopicPartition{Topic: fmt.Sprint("t", m.rng.IntN(3)), Partition: int32(m.rng.IntN(4))}
	group := fmt.Sprint("g", m.rng.IntN(3))
	key := fmt.Sprintf("%s/%s/%d", group, tp.Topic, tp.Partition)
	m.next++
	position := m.next
	var change coordinator.Change
	keys, value := []string{key}, int64(0) // what it makes of them
	switch p := m.rng.IntN(10); {
	case p < 7:
		c := coordinator.OffsetCommitted{TopicPartition: tp, Offset: coordinator.Offset{Position: position, CommittedAt: time.Now()}}
		if m.rng.IntN(10) == 0 {
			c.Metadata = fmt.Sprint(m.rng.Perm(200)) // in parts
		}
		change, value = c, position
	case p < 9:
		change = coordinator.OffsetRemoved{TopicPartition: tp}
	default:
		change, keys = coordinator.GroupRemoved{}, nil
		for topic := range 3 {
			for partition := range 4 {
				keys = append(keys, fmt.Sprintf("%s/t%d/%d", group, topic, partition))
			}
		}
	}
	m.mu.Lock()
	m.pending++
	m.mu.Unlock()
	owner := m.gateway
	owner.Groups().Append(group, []coordinator.Change{change}, func(err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pending--
		switch {
		case err == nil:
			for _, key := range keys {
				m.acked[key] = value
				delete(m.perhaps, key)
			}
		case errors.Is(err, statelog.ErrFenced) && owner == m.gateway:
			m.t.Errorf("the newest gateway was fenced: %v", err)
		default:
			for _, key := range keys {
				m.perhaps[key] = append(m.perhaps[key], value)
			}
		}
	})
}

// settle makes the storage well, waits, and compares.
func (m *model) settle() {
	m.t.Helper()
	m.storage.Fail(nil)
	m.storage.Arrive()
	time.Sleep(5 * time.Second)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending > 0 {
		m.t.Errorf("%d changes still wait", m.pending)
	}
	var want []string
	for key, position := range m.acked {
		if position > 0 {
			want = append(want, fmt.Sprintf("%s=%d", key, position))
		}
	}
	clear(m.perhaps)
	slices.Sort(want)
	equal(m.t, want, stored(m.t, m.storage))
	if m.t.Failed() {
		m.t.Fatal(m.gateway.events())
	}
}

// crash ends the gateway while appends fail, and late ones come before or after: what was acknowledged is there, but for what
// failed since, which may be. Nothing is lost meanwhile: what the storage loses is safe again only when the gateway has seen it.
func (m *model) crash() {
	m.settle()
	for range m.rng.IntN(30) {
		switch p := m.rng.IntN(100); {
		case p < 60:
			m.change()
		case p < 75:
			m.storage.FailNext(1+m.rng.IntN(3), statelogtest.Fault(m.rng.IntN(5)))
		case p < 85:
			m.storage.Arrive()
		default:
			time.Sleep(time.Duration(m.rng.IntN(50)) * time.Millisecond)
		}
	}
	if err := m.gateway.stop(); err != nil {
		m.t.Errorf("Run: %v", err)
	}
	m.storage.Fail(nil)
	if m.rng.IntN(2) == 0 {
		m.storage.Arrive()
	}
	events := m.gateway.events()
	m.start()
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]int64{}
	for _, line := range stored(m.t, m.storage) {
		key, position, _ := strings.Cut(line, "=")
		found[key], _ = strconv.ParseInt(position, 10, 64)
	}
	for key := range maps.Keys(m.acked) {
		if found[key] != m.acked[key] && !slices.Contains(m.perhaps[key], found[key]) {
			m.t.Errorf("%s=%d was acknowledged and then failed as %d: it is %d", key, m.acked[key], m.perhaps[key], found[key])
		}
	}
	if m.t.Failed() {
		m.t.Fatal(events)
	}
	clear(m.perhaps)
	m.acked = found
}

// replace starts a gateway, with or without the last one still running.
func (m *model) replace() {
	m.settle()
	last := m.gateway
	running := m.rng.IntN(2) == 0
	if !running {
		if err := last.stop(); err != nil {
			m.t.Errorf("Run: %v", err)
		}
	}
	m.start()
	if running {
		if err := last.commit("g0", "t0", 0, -5); !errors.Is(err, coordinator.ErrNotCoordinator) {
			m.t.Errorf("the older gateway committed: %v", err)
		}
		if err := last.stop(); !errors.Is(err, statelog.ErrFenced) {
			m.t.Errorf("Run of the older gateway: %v", err)
		}
	}
}
