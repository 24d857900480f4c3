// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// byName is a version that names topics, byID one that has their ids.
const (
	byName = 12
	byID   = 13
)

var epoch0 = time.Unix(1_000_000, 0)

// ids is a source of ids that can be told apart: 1, 2, 3 and so on.
type ids struct{ last byte }

func (r *ids) Read(b []byte) (int, error) {
	r.last++
	clear(b)
	b[3] = r.last << 1
	return len(b), nil
}

func newCache(change func(*Config)) *Cache {
	cfg := Config{MaxSessions: 1000, MaxPartitions: 100_000, MaxBytes: 64 << 20, EvictAfter: 2 * time.Minute, Rand: new(ids)}
	if change != nil {
		change(&cfg)
	}
	return NewCache(cfg)
}

// request names partitions as "topic/partition@offset"; "-topic/partition" forgets one.
func request(version int16, id, epoch int32, names ...string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.SessionID, req.SessionEpoch = version, id, epoch
	for _, name := range names {
		var partition int32
		var offset int64
		topic, rest, _ := strings.Cut(strings.TrimPrefix(name, "-"), "/")
		if _, err := fmt.Sscanf(rest, "%d@%d", &partition, &offset); err != nil {
			fmt.Sscanf(rest, "%d", &partition)
		}
		if strings.HasPrefix(name, "-") {
			t := kmsg.NewFetchRequestForgottenTopic()
			t.Topic, t.TopicID, t.Partitions = topic, idOf(topic), []int32{partition}
			req.ForgottenTopics = append(req.ForgottenTopics, t)
			continue
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 100
		if n := len(req.Topics); n > 0 && req.Topics[n-1].Topic == topic {
			req.Topics[n-1].Partitions = append(req.Topics[n-1].Partitions, p)
			continue
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID, t.Partitions = topic, idOf(topic), []kmsg.FetchRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// idOf is a topic id that holds the name. Requests carry both, as kmsg's have room for both; the version tells which one
// counts.
func idOf(topic string) (id [16]byte) {
	copy(id[:], topic)
	return id
}

func (t *Topic) text() string {
	return t.Name + strings.TrimRight(string(t.ID[:]), "\x00")
}

func (p *Part) text() string { return fmt.Sprintf("%s/%d@%d", p.Topic.text(), p.Partition, p.Offset) }

// log is what a broker has of each partition, by "topic/partition"; what is not listed is an error.
type log map[string]Outcome

func (l log) of(p *Part) Outcome {
	if o, ok := l[fmt.Sprintf("%s/%d", p.Topic.text(), p.Partition)]; ok {
		return o
	}
	return Outcome{HighWatermark: -1, LogStart: -1, Failed: true}
}

// answer is one request's: "asked" lists what was fetched, "told" what the answer holds.
type answer struct {
	id          int32
	asked, told []string
}

// fetch runs one request to its end.
func (c *Cache) fetch(now time.Time, req *kmsg.FetchRequest, l log) (answer, error) {
	f, err := c.Begin(now, req)
	if err != nil {
		return answer{}, err
	}
	return f.rest(now, l)
}

func (f *Fetch) rest(now time.Time, l log) (a answer, err error) {
	var parts []Part
	if err := f.Each(func(p Part) { parts = append(parts, p) }); err != nil {
		return a, err
	}
	if len(parts) > f.Len() {
		return a, fmt.Errorf("%d parts, Len says %d", len(parts), f.Len())
	}
	foreseen := make([]bool, len(parts))
	for i := range parts {
		foreseen[i] = f.Omits(&parts[i], l.of(&parts[i]))
	}
	a.id, err = f.Finish(now, func(yield func(*Part, Outcome) bool) {
		for i := range parts {
			if !yield(&parts[i], l.of(&parts[i])) {
				return
			}
		}
	})
	for i := range parts {
		a.asked = append(a.asked, parts[i].text())
		if parts[i].Omit != foreseen[i] && err == nil {
			return a, fmt.Errorf("%s is left out: %t, foreseen was %t", parts[i].text(), parts[i].Omit, foreseen[i])
		}
		if !parts[i].Omit {
			a.told = append(a.told, parts[i].text())
		}
	}
	return a, err
}

// What is withheld is told with the next answer: the session goes on, with the next epoch, and has learnt nothing. A session that
// would have begun does not.
func TestWithhold(t *testing.T) {
	c := newCache(nil)
	withhold := func(req *kmsg.FetchRequest) int32 {
		t.Helper()
		f, err := c.Begin(epoch0, req)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Each(func(Part) {}); err != nil {
			t.Fatal(err)
		}
		id, err := f.Withhold()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if id := withhold(request(7, 0, 0, "a/0")); id != 0 || len(c.sessions) != 0 {
		t.Errorf("a new one: id %d, %d sessions", id, len(c.sessions))
	}
	if id := withhold(request(4, 0, 0, "a/0")); id != 0 {
		t.Errorf("without sessions: id %d", id)
	}
	l := log{"a/0": {HighWatermark: 5}, "a/1": {HighWatermark: 6}}
	made, err := c.fetch(epoch0, request(7, 0, 0, "a/0", "a/1"), l)
	if err != nil {
		t.Fatal(err)
	}
	if id := withhold(request(7, made.id, 1, "a/0@5")); id != made.id {
		t.Errorf("id %d, want %d", id, made.id)
	}
	l["a/1"] = Outcome{HighWatermark: 7}
	if id := withhold(request(7, made.id, 2)); id != made.id {
		t.Errorf("id %d, want %d", id, made.id)
	}
	got, err := c.fetch(epoch0, request(7, made.id, 3), l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/1@0"}, got.told); diff != "" {
		t.Error(diff)
	}
	slow, err := c.Begin(epoch0, request(7, made.id, 4))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.fetch(epoch0, request(7, made.id, 5), l); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Withhold(); !errors.Is(err, ErrEpoch) {
		t.Errorf("overtaken: %v", err)
	}
}

// The epoch of a request goes from 1 up, and from the largest number to 1.
func TestEpochWraps(t *testing.T) {
	c := newCache(nil)
	l := log{"a/0": idle}
	made, err := c.fetch(epoch0, request(7, 0, 0, "a/0"), l)
	if err != nil {
		t.Fatal(err)
	}
	c.sessions[made.id].epoch = 1<<31 - 2
	for _, epoch := range []int32{1<<31 - 2, 1<<31 - 1, 1, 2} {
		if _, err := c.fetch(epoch0, request(7, made.id, epoch), l); err != nil {
			t.Fatalf("epoch %d: %v", epoch, err)
		}
	}
}

// What a session remembers of a request is what came with it: sizes and epochs too.
func TestParameters(t *testing.T) {
	c := newCache(nil)
	req := request(9, 0, 0, "a/0@7")
	p := &req.Topics[0].Partitions[0]
	p.PartitionMaxBytes, p.CurrentLeaderEpoch = 123, 4
	made, err := c.fetch(epoch0, req, log{"a/0": {HighWatermark: 9, LogStart: 2}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Begin(epoch0, request(9, made.id, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Each(func(got Part) {
		got.Topic, got.entry = nil, nil
		if want := (Part{MaxBytes: 123, Offset: 7, LeaderEpoch: 4, HighWatermark: 9, LogStart: 2}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}); err != nil {
		t.Error(err)
	}
}

// The name that an id had stays with the partitions that were fetched under it.
func TestResolvedNames(t *testing.T) {
	c := newCache(nil)
	known := idle
	known.Resolved = "name"
	made, err := c.fetch(epoch0, request(byID, 0, 0, "a/0", "b/0"), log{"a/0": known, "b/0": failed})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Begin(epoch0, request(byID, made.id, 1, "a/1"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := f.Each(func(p Part) { got[p.text()] = p.Resolved }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a/0@0": "name", "b/0@0": "", "a/1@0": ""}, got); diff != "" {
		t.Error(diff)
	}
}

// Two requests use one session. The second comes while the first is under way, before or after it lists its partitions:
// with the same epoch it is refused, with the next one it goes on and the first fails.
func TestTwoAtOnce(t *testing.T) {
	l := log{"a/0": idle, "a/1": idle}
	for _, listed := range []bool{false, true} {
		c := newCache(nil)
		made, err := c.fetch(epoch0, request(7, 0, 0, "a/0"), l)
		if err != nil {
			t.Fatal(err)
		}
		first, err := c.Begin(epoch0, request(7, made.id, 1))
		if err != nil {
			t.Fatal(err)
		}
		if listed {
			if err := first.Each(func(Part) {}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Begin(epoch0, request(7, made.id, 1)); !errors.Is(err, ErrEpoch) {
			t.Errorf("the same epoch: %v", err)
		}
		if got, err := c.fetch(epoch0, request(7, made.id, 2, "a/1", "-a/0"), l); err != nil || !slices.Equal(got.asked, []string{"a/1@0"}) {
			t.Errorf("the next epoch: %v, %v", got, err)
		}
		if err := first.Each(func(Part) {}); !errors.Is(err, ErrEpoch) {
			t.Errorf("listed %v: the first one: %v", listed, err)
		}
		if _, err := finish(epoch0, first, nil, nil); !errors.Is(err, ErrEpoch) {
			t.Errorf("listed %v: the first one: %v", listed, err)
		}
		if got, err := c.fetch(epoch0, request(7, made.id, 3), l); err != nil || len(got.told) != 0 {
			t.Errorf("the epoch after it: %v, %v", got, err)
		}
	}
}

// A session that is ended while a fetch is under way: the fetch is answered, the next one does not find it.
func TestEndedMeanwhile(t *testing.T) {
	c := newCache(nil)
	l := log{"a/0": idle}
	made, err := c.fetch(epoch0, request(7, 0, 0, "a/0"), l)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Begin(epoch0, request(7, made.id, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.fetch(epoch0, request(7, made.id, -1), l); err != nil {
		t.Fatal(err)
	}
	if got, err := f.rest(epoch0, l); err != nil || got.id != made.id {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Begin(epoch0, request(7, made.id, 2)); !errors.Is(err, ErrNotFound) {
		t.Errorf("afterwards: %v", err)
	}
}

// A session that is ended between its look-up and its use is not found.
func TestEndedAtOnce(t *testing.T) {
	c := newCache(nil)
	made, err := c.fetch(epoch0, request(7, 0, 0, "a/0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := c.find(made.id)
	c.remove(made.id)
	f := &Fetch{cache: c, req: request(7, made.id, 1, "a/1")}
	if err := f.resume(s, epoch0); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	c.check(t)
}

// Ids are neither 0 nor negative nor in use, whatever the source of randomness yields; without it there are no sessions.
func TestIDs(t *testing.T) {
	source := strings.NewReader(
		"\x00\x00\x00\x01" + "\x00\x00\x00\x0a" + // 0, 5
			"\x00\x00\x00\x0b" + "\xff\xff\xff\xff" + // 5, the largest
			"\x00\x00\x00") // cut
	c := newCache(func(cfg *Config) { cfg.Rand = source })
	var got []int32
	for range 3 {
		a, err := c.fetch(epoch0, request(7, 0, 0, "a/0"), log{"a/0": idle})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a.id)
	}
	if diff := cmp.Diff([]int32{5, 1<<31 - 1, 0}, got); diff != "" {
		t.Error(diff)
	}
	if n, _ := io.Copy(io.Discard, source); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// Many goroutines use few sessions at the same time (for the race detector).
func TestConcurrently(t *testing.T) {
	c := newCache(func(cfg *Config) { cfg.MaxSessions = 3; cfg.Rand = rand.NewChaCha8([32]byte{}) })
	l := log{"a/0": records, "a/1": idle}
	done := make(chan error, 8)
	for i := range cap(done) {
		go func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			var id, epoch int32
			for n := range 500 {
				now := epoch0.Add(time.Duration(n) * 10 * time.Second)
				a, err := c.fetch(now, request(7, id, epoch, []string{"a/0", "a/1", "-a/0"}[r.IntN(3)]), l)
				if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrEpoch) {
					done <- err
					return
				}
				if id, epoch = a.id, epoch+1; err != nil || id == 0 {
					id, epoch = r.Int32N(2), 0
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(c.sessions) > 3 {
		t.Errorf("%d sessions", len(c.sessions))
	}
}
