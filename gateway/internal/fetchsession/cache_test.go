// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// many names partitions 0 to n-1 of a topic.
func many(topic string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s/%d", topic, i)
	}
	return names
}

// check adds up what is charged.
func (c *Cache) check(t *testing.T) {
	t.Helper()
	var bytes int64
	for id, s := range c.sessions {
		bytes += s.charge
		if s.place.id != id || s.place.charge != s.charge || s.place.size != s.size {
			t.Errorf("session %d: %+v; %d partitions, %d bytes", id, s.place, s.size, s.charge)
		}
	}
	if c.bytes != bytes || bytes > c.cfg.MaxBytes {
		t.Errorf("%d bytes are charged for %d, of %d", c.bytes, bytes, c.cfg.MaxBytes)
	}
}

// Who gives way to a new session when three are the most: somebody unused for 2 minutes, else somebody smaller that is not
// young, else nobody.
func TestEviction(t *testing.T) {
	const young, old = time.Minute, 3 * time.Minute
	type made struct {
		size      int
		age, idle time.Duration // when the new one comes
	}
	for name, tc := range map[string]struct {
		have [3]made
		size int
		want int // which one goes, from 1; 0: none, and the new one has no place
	}{
		"all young":                 {[3]made{{1, young, 0}, {2, young, 0}, {3, young, 0}}, 9, 0},
		"one unused":                {[3]made{{9, old, 0}, {9, old, old}, {9, old, 0}}, 1, 2},
		"unused, but not for long":  {[3]made{{9, old, young}, {9, old, 2 * time.Minute}, {9, old, 0}}, 1, 0},
		"the one unused longest":    {[3]made{{1, 9 * old, old}, {1, 9 * old, 2 * old}, {1, 9 * old, old}}, 1, 2},
		"unused before small":       {[3]made{{1, old, 0}, {9, old, old}, {1, old, 0}}, 5, 2},
		"a smaller one":             {[3]made{{9, old, 0}, {9, old, 0}, {4, old, 0}}, 5, 3},
		"the smallest one":          {[3]made{{3, old, 0}, {2, old, 0}, {4, old, 0}}, 5, 2},
		"the first of the smallest": {[3]made{{4, old, 0}, {2, old, 0}, {2, old, 0}}, 5, 2},
		"one of the same size":      {[3]made{{5, old, 0}, {5, old, 0}, {5, old, 0}}, 5, 0},
		"a smaller one, young":      {[3]made{{1, young, 0}, {9, old, 0}, {9, old, 0}}, 5, 0},
		"2 minutes are not enough":  {[3]made{{1, 2 * time.Minute, 0}, {9, old, 0}, {9, old, 0}}, 5, 0},
		"young when it was last used": {
			[3]made{{1, old, 90 * time.Second}, {9, old, 0}, {9, old, 0}}, 5, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache(func(cfg *Config) { cfg.MaxSessions = 3 })
			now := epoch0.Add(time.Hour)
			for i, s := range tc.have {
				id := int32(i + 1)
				if a, err := c.fetch(now.Add(-s.age), request(7, 0, 0, many("a", s.size)...), nil); err != nil || a.id != id {
					t.Fatal(a, err)
				}
				if _, err := c.fetch(now.Add(-s.idle), request(7, id, 1), nil); err != nil {
					t.Fatal(err)
				}
			}
			a, err := c.fetch(now, request(7, 0, 0, many("b", tc.size)...), nil)
			if err != nil || len(a.told) != tc.size || (a.id != 0) != (tc.want != 0) {
				t.Fatal(a, err)
			}
			want := Stats{Sessions: 3, Partitions: tc.have[0].size + tc.have[1].size + tc.have[2].size, Limit: 3}
			if tc.want != 0 {
				want.Partitions += tc.size - tc.have[tc.want-1].size
				want.Evicted = 1
			}
			got := c.Stats()
			if got.Bytes <= 0 {
				t.Errorf("%d bytes", got.Bytes)
			}
			if got.Bytes = 0; got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			for id := range int32(4) {
				_, err := c.Begin(now, request(7, id, 2))
				if gone := errors.Is(err, ErrNotFound); gone != (id == 0 || int(id) == tc.want) {
					t.Errorf("session %d: %v", id, err)
				}
			}
		})
	}
}

// One session has at most MaxPartitions: a fetch of more is answered without a session, and one that would grow ends.
func TestMaxPartitions(t *testing.T) {
	c := newCache(func(cfg *Config) { cfg.MaxPartitions = 10 })
	if a, err := c.fetch(epoch0, request(7, 0, 0, many("a", 11)...), nil); err != nil || a.id != 0 || len(a.told) != 11 {
		t.Errorf("11: %v, %v", a, err)
	}
	a, err := c.fetch(epoch0, request(7, 0, 0, many("a", 10)...), log{"a/0": idle})
	if err != nil || a.id != 1 {
		t.Errorf("10: %v, %v", a, err)
	}
	if again, err := c.fetch(epoch0, request(7, a.id, 1, many("a", 10)...), nil); err != nil || again.id != a.id {
		t.Errorf("the same 10: %v, %v", again, err)
	}
	if _, err := c.Begin(epoch0, request(7, a.id, 2, "b/0")); !errors.Is(err, ErrNotFound) {
		t.Errorf("one more: %v", err)
	}
	if _, err := c.Begin(epoch0, request(7, a.id, 2)); !errors.Is(err, ErrNotFound) {
		t.Errorf("afterwards: %v", err)
	}
	c.check(t)
}

// All sessions together have MaxBytes. A new one takes the place of as many as it must, or of none when that would not do.
func TestMaxBytes(t *testing.T) {
	charge := func(n int) int64 { return sessionCharge + topicCharge + 1 + int64(n)*partitionCharge }
	c := newCache(func(cfg *Config) { cfg.MaxBytes = 4 * charge(10) })
	start := func(now time.Time, n int) int32 {
		t.Helper()
		a, err := c.fetch(now, request(7, 0, 0, many("a", n)...), nil)
		if err != nil || len(a.told) != n {
			t.Fatal(a, err)
		}
		return a.id
	}
	for id := int32(1); id <= 4; id++ {
		if got := start(epoch0, 10); got != id {
			t.Fatalf("session %d has id %d", id, got)
		}
	}
	if id := start(epoch0, 10); id != 0 {
		t.Errorf("a fifth one: %d", id)
	}
	later := epoch0.Add(time.Hour)
	for id := int32(2); id <= 4; id++ {
		if _, err := c.fetch(later, request(7, id, 1), nil); err != nil {
			t.Fatal(err)
		}
	}
	if id := start(later, 70); id != 0 {
		t.Errorf("larger than all: %d", id)
	}
	if id := start(later, 8); id != 5 { // in the place of the first, which nobody uses
		t.Errorf("one place is free: %d", id)
	}
	if id := start(later, 9); id != 0 { // nobody old is smaller
		t.Errorf("none is free: %d", id)
	}
	if got := len(c.sessions); got != 4 {
		t.Errorf("%d sessions", got)
	}
	if id := start(later, 55); id != 0 || len(c.sessions) != 4 { // the three old ones are not enough, so none goes
		t.Errorf("of 55: %d, %d sessions", id, len(c.sessions))
	}
	c.check(t)
	if id := start(later, 20); id != 6 { // three old ones are smaller; two are enough
		t.Errorf("of 20: %d", id)
	}
	if got := len(c.sessions); got != 3 {
		t.Errorf("%d sessions", got)
	}
	if _, err := c.fetch(later, request(7, 6, 1, many("b", 3)...), nil); err != nil {
		t.Error(err)
	}
	c.check(t)
	if _, err := c.Begin(later, request(7, 6, 2, many("b", 30)...)); !errors.Is(err, ErrNotFound) {
		t.Errorf("it outgrows the bound: %v", err)
	}
	c.check(t)
	if _, err := c.Begin(later, request(7, 6, 3)); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that outgrew the bound: %v", err)
	}
	for id := range int32(9) {
		c.remove(id)
	}
	c.check(t)
}

// What is charged covers what the heap holds, for sessions of one topic, of many, with long names, and of those that have
// forgotten most of what they had. And it is no more than twice that, or the bound would be a waste.
func TestCharge(t *testing.T) {
	forget := func(req *kmsg.FetchRequest) {
		for i := range req.Topics {
			for j, p := range req.Topics[i].Partitions {
				if i+j > 0 {
					f := kmsg.NewFetchRequestForgottenTopic()
					f.Topic, f.Partitions = req.Topics[i].Topic, []int32{p.Partition}
					req.ForgottenTopics = append(req.ForgottenTopics, f)
				}
			}
		}
		req.Topics = nil
	}
	for name, tc := range map[string]struct {
		sessions, topics, partitions, length int
		forget                               bool
	}{
		"one large":      {1, 1, 100_000, 10, false},
		"just not full":  {1, 1, 110_000, 10, false},
		"many small":     {1000, 1, 10, 10, false},
		"of one":         {1000, 1, 1, 10, false},
		"many topics":    {10, 1000, 3, 10, false},
		"one of each":    {10, 5000, 1, 10, false},
		"long names":     {10, 100, 1, 30_000, false},
		"forgotten":      {2, 1, 50_000, 10, true},
		"topics as well": {2, 20_000, 1, 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			c := newCache(func(cfg *Config) { cfg.MaxBytes = 1 << 30; cfg.MaxPartitions = 1 << 30; cfg.Rand = newSeq() })
			for range tc.sessions {
				req := request(7, 0, 0)
				for i := range tc.topics {
					topic := kmsg.NewFetchRequestTopic()
					topic.Topic = strings.Repeat("n", tc.length) + fmt.Sprint(i)
					topic.Partitions = make([]kmsg.FetchRequestTopicPartition, tc.partitions)
					for j := range topic.Partitions {
						topic.Partitions[j].Partition = int32(j)
					}
					req.Topics = append(req.Topics, topic)
				}
				id := c.keep(t, req)
				if tc.forget {
					forget(req)
					req.SessionID, req.SessionEpoch = id, 1
					c.keep(t, req)
				}
			}
			held := heap() - before
			if held > c.bytes {
				t.Errorf("the heap holds %d bytes, %d are charged", held, c.bytes)
			}
			if !tc.forget && held < c.bytes/2 {
				t.Errorf("the heap holds %d bytes, as many as %d are charged", held, c.bytes)
			}
			runtime.KeepAlive(c)
		})
	}
}

// A fetch holds next to nothing before it lists its partitions: by then somebody has accounted for what it says that it takes.
// And it takes no more than that.
func TestNothingIsHeldBeforeEach(t *testing.T) {
	const partitions, topics = 200_000, 20
	for name, tc := range map[string]struct {
		epoch int32
		max   int
	}{
		"without a session":   {finalEpoch, partitions},
		"beyond the bounds":   {initialEpoch, partitions - 1},
		"a session begins":    {initialEpoch, partitions},
		"a session too large": {1, partitions},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache(func(cfg *Config) { cfg.MaxPartitions = tc.max; cfg.Rand = newSeq() })
			made, err := c.fetch(epoch0, request(7, 0, 0, "a/0"), nil)
			if err != nil {
				t.Fatal(err)
			}
			req := request(7, made.id, tc.epoch)
			for i := range topics {
				topic := kmsg.NewFetchRequestTopic()
				topic.Topic = fmt.Sprint("topic", i)
				topic.Partitions = make([]kmsg.FetchRequestTopicPartition, partitions/topics)
				for j := range topic.Partitions {
					topic.Partitions[j].Partition = int32(j)
				}
				req.Topics = append(req.Topics, topic)
			}
			before := heap()
			f, err := c.Begin(epoch0, req)
			if held := heap() - before; held > partitions { // a byte each: a list of them takes more; others hold something, too
				t.Errorf("%d bytes are held", held)
			}
			if tc.epoch == 1 {
				if !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				return
			}
			listed := 0
			if err := f.Each(func(Part) { listed++ }); err != nil || listed != partitions || f.Len() != partitions {
				t.Errorf("%d partitions, %d are announced: %v", listed, f.Len(), err)
			}
			if held := heap() - before; held > f.Memory()+partitions {
				t.Errorf("%d bytes are held, %d are announced", held, f.Memory())
			}
			runtime.KeepAlive(f)
			runtime.KeepAlive(req)
		})
	}
}

// keep runs a fetch that makes or keeps a session.
func (c *Cache) keep(t *testing.T, req *kmsg.FetchRequest) (id int32) {
	t.Helper()
	f, err := c.Begin(epoch0, req)
	if err == nil {
		err = f.Each(func(Part) {})
	}
	if err == nil {
		id, err = finish(epoch0, f, nil, nil)
	}
	if err != nil || id == 0 {
		t.Fatal(id, err)
	}
	return id
}

// newSeq yields ids 1, 2, 3 and so on, without an end.
func newSeq() *seq { return new(seq) }

type seq struct{ n uint32 }

func (s *seq) Read(b []byte) (int, error) {
	s.n++
	b[0], b[1], b[2], b[3] = byte(s.n>>23), byte(s.n>>15), byte(s.n>>7), byte(s.n<<1)
	return 4, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
