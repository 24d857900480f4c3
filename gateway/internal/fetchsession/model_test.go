// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzSessions plays clients against a broker, as the bytes say, and compares sessions with the naive model of them: none.
//
//   - What is fetched in a session is what its client wants, each partition once, from the offset that it wants.
//   - After an answer a client that applies it to what it believed believes what a full answer would have told.
//   - However few partitions an answer has room for, none that has records is passed over for more answers than there are
//     partitions.
//   - An answer that is refused is followed by a full one that is not.
//   - The bounds of the cache hold.
func FuzzSessions(f *testing.F) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 7))
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newModel(t, data)
		for m.more() {
			m.step()
		}
	})
}

const (
	modelSessions   = 3
	modelPartitions = 12
)

type model struct {
	*testing.T
	data    []byte
	now     time.Time
	cache   *Cache
	names   []string // of the partitions
	broker  map[string]*modelPartition
	clients []*modelClient
}

type modelPartition struct {
	start, next int64
	broken      bool
}

type modelClient struct {
	version   int16
	id, epoch int32
	wants     map[string]int64   // offsets
	sent      map[string]int64   // what the session was told of them
	believes  map[string]Outcome // from the answers, without Records
	waits     map[string]int     // answers since a partition that has records was served
}

func newModel(t *testing.T, data []byte) *model {
	m := &model{T: t, data: data, now: epoch0, broker: map[string]*modelPartition{}}
	m.cache = newCache(func(cfg *Config) {
		cfg.MaxSessions, cfg.MaxPartitions, cfg.Rand = modelSessions, modelPartitions, newSeq()
		cfg.MaxBytes = sessionCharge*3 + topicCharge*8 + partitionCharge*25
	})
	for _, topic := range []string{"a", "b", "c"} {
		for p := range 5 {
			name := fmt.Sprintf("%s/%d", topic, p)
			m.names = append(m.names, name)
			m.broker[name] = &modelPartition{}
		}
	}
	for i := range 5 {
		m.clients = append(m.clients, &modelClient{version: []int16{7, byName, byID}[i%3], wants: map[string]int64{}})
		m.clients[i].reset()
	}
	return m
}

// reset forgets the session.
func (c *modelClient) reset() {
	c.id, c.epoch = 0, 0
	c.sent, c.believes, c.waits = map[string]int64{}, map[string]Outcome{}, map[string]int{}
}

func (m *model) more() bool { return len(m.data) > 0 }

// draw returns a number below n.
func (m *model) draw(n int) int {
	if !m.more() {
		return 0
	}
	b := m.data[0]
	m.data = m.data[1:]
	return int(b) % n
}

func (m *model) partition() string { return m.names[m.draw(len(m.names))] }

func (m *model) step() {
	c := m.clients[m.draw(len(m.clients))]
	switch m.draw(16) {
	case 0, 1, 2:
		m.broker[m.partition()].next += int64(1 + m.draw(3))
	case 3:
		p := m.broker[m.partition()]
		p.start = min(p.start+int64(m.draw(3)), p.next)
	case 4:
		p := m.broker[m.partition()]
		p.broken = !p.broken
	case 5, 6:
		c.wants[m.partition()] = int64(m.draw(4))
	case 7:
		delete(c.wants, m.partition())
	case 8:
		m.now = m.now.Add(time.Duration(m.draw(4)) * time.Minute)
	case 9:
		c.reset() // the client was restarted
	case 10:
		m.overtaken(c)
	case 11:
		m.lost(c)
	default:
		m.fetch(c, 1+m.draw(3))
	}
	if m.cache.check(m.T); len(m.cache.sessions) > modelSessions || m.Failed() {
		m.Fatalf("%d sessions", len(m.cache.sessions))
	}
}

// request is what a client sends that knows the protocol: everything, or what changed.
func (c *modelClient) request() *kmsg.FetchRequest {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.wants)) {
		if sent, ok := c.sent[name]; !ok || sent != c.wants[name] || c.epoch <= 0 {
			names = append(names, fmt.Sprintf("%s@%d", name, c.wants[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.sent)) {
		if _, ok := c.wants[name]; !ok {
			names = append(names, "-"+name)
			delete(c.believes, name)
			delete(c.waits, name)
		}
	}
	c.sent = maps.Clone(c.wants)
	return request(c.version, c.id, c.epoch, names...)
}

// fetch asks and applies what is answered; an answer has room for the records of so many partitions.
func (m *model) fetch(c *modelClient, room int) {
	f, err := m.cache.Begin(m.now, c.request())
	if err == nil {
		err = m.answer(c, f, room)
	}
	if err == nil {
		return
	}
	if c.epoch == 0 || !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrEpoch) {
		m.Fatalf("epoch %d of session %d: %v", c.epoch, c.id, err)
	}
	c.reset()
	if f, err = m.cache.Begin(m.now, c.request()); err == nil {
		err = m.answer(c, f, room)
	}
	if err != nil {
		m.Fatalf("a full fetch: %v", err)
	}
}

func (m *model) answer(c *modelClient, f *Fetch, room int) error {
	parts, err := m.parts(f)
	if err != nil {
		return err
	}
	asked := map[string]int64{}
	for i := range parts {
		asked[name(&parts[i])] = parts[i].Offset
	}
	if len(asked) != len(parts) || !maps.Equal(asked, c.wants) {
		m.Fatalf("fetched %v, the client wants %v", asked, c.wants)
	}
	outcomes := make([]Outcome, len(parts))
	for i := range parts {
		outcomes[i] = m.outcome(&parts[i])
		if m.hasRecords(&parts[i]) && room > 0 {
			outcomes[i].Records = true
			room--
		}
	}
	id, err := finish(m.now, f, parts, outcomes)
	if err != nil {
		return err
	}
	c.apply(m, id, parts, outcomes)
	return nil
}

func (m *model) parts(f *Fetch) (parts []Part, err error) {
	err = f.Each(func(p Part) { parts = append(parts, p) })
	if err == nil && len(parts) != f.Len() {
		m.Fatalf("%d parts, Len says %d", len(parts), f.Len())
	}
	return parts, err
}

func finish(now time.Time, f *Fetch, parts []Part, outcomes []Outcome) (int32, error) {
	return f.Finish(now, func(yield func(*Part, Outcome) bool) {
		for i := range parts {
			if !yield(&parts[i], outcomes[i]) {
				return
			}
		}
	})
}

func name(p *Part) string { return fmt.Sprintf("%s/%d", p.Topic.text(), p.Partition) }

func (m *model) outcome(p *Part) Outcome {
	if b := m.broker[name(p)]; !b.broken {
		return Outcome{HighWatermark: b.next, LogStart: b.start}
	}
	return failed
}

func (m *model) hasRecords(p *Part) bool {
	b := m.broker[name(p)]
	return !b.broken && b.start <= p.Offset && p.Offset < b.next
}

// apply is what a client does with an answer, and the judgement of it.
func (c *modelClient) apply(m *model, id int32, parts []Part, outcomes []Outcome) {
	for i := range parts {
		n, o := name(&parts[i]), outcomes[i]
		switch waits := m.hasRecords(&parts[i]); {
		case o.Records || !waits:
			c.waits[n] = 0
		default:
			if c.waits[n]++; c.waits[n] > modelPartitions && len(parts) <= modelPartitions {
				m.Fatalf("%s has records and was passed over %d times", n, c.waits[n])
			}
		}
		if parts[i].Omit && (o.Records || o.Failed) {
			m.Fatalf("%s is left out: %+v", n, o)
		}
		if o.Records = false; !parts[i].Omit {
			c.believes[n] = o
		}
		if c.believes[n] != o {
			m.Fatalf("of %s the client believes %+v; it is %+v", n, c.believes[n], o)
		}
	}
	if id == 0 {
		c.reset()
		return
	}
	c.id, c.epoch = id, nextEpoch(c.epoch)
}

// overtaken begins a fetch and another one on its heels, as two who know the session do. The first must fail.
func (m *model) overtaken(c *modelClient) {
	if c.epoch == 0 {
		return
	}
	first, err := m.cache.Begin(m.now, c.request())
	if err != nil || first.kind != incremental {
		c.reset()
		return
	}
	parts, err := m.parts(first)
	if err != nil {
		m.Fatal(err)
	}
	c.epoch = nextEpoch(c.epoch)
	second, err := m.cache.Begin(m.now, c.request())
	if err != nil {
		m.Fatalf("the one on its heels: %v", err)
	}
	if _, err := finish(m.now, first, parts, make([]Outcome, len(parts))); !errors.Is(err, ErrEpoch) {
		m.Fatalf("the overtaken one: %v", err)
	}
	if err := m.answer(c, second, 2); err != nil {
		m.Fatal(err)
	}
}

// lost is an answer that does not arrive: the client asks again with its epoch, and must begin anew.
func (m *model) lost(c *modelClient) {
	f, err := m.cache.Begin(m.now, c.request())
	if err == nil {
		var parts []Part
		if parts, err = m.parts(f); err == nil {
			outcomes := make([]Outcome, len(parts))
			for i := range parts {
				outcomes[i] = m.outcome(&parts[i])
			}
			_, err = finish(m.now, f, parts, outcomes)
		}
	}
	if err == nil && c.epoch != 0 && f.kind == incremental {
		if _, err := m.cache.Begin(m.now, c.request()); !errors.Is(err, ErrEpoch) {
			m.Fatalf("the same epoch again: %v", err)
		}
	}
	c.reset()
}
