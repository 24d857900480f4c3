// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// clock is a time that only a test moves.
type clock struct{ micros atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// Segments of the tests hold ten messages of 100 bytes.
const (
	retentionBatch   = 10
	retentionMessage = 100
	retentionSegment = retentionBatch * retentionMessage
)

// retentionConfigs is all stores with small segments, a clock, and no cleaner but
// the test's calls.
func retentionConfigs(tb testing.TB) (map[string]Config, *clock) {
	c := &clock{}
	c.advance(time.Hour)
	all := stores(tb)
	for name, cfg := range all {
		cfg.SegmentSize, cfg.CleanerInterval, cfg.Now = retentionSegment, -1, c.now
		all[name] = cfg
	}
	return all, c
}

func createRetentionTopic(tb testing.TB, conn net.Conn, partitions uint32, expiry time.Duration, maxSize uint64) {
	tb.Helper()
	do(tb, conn, iggywire.CreateStream{Name: "s"})
	do(tb, conn, iggywire.CreateTopic{
		Stream: iggywire.NamedID("s"), Name: "t", Partitions: partitions, Compression: iggywire.CompressionNone,
		MessageExpiry: uint64(expiry.Microseconds()), MaxSize: maxSize,
	})
}

// fill sends n messages to a partition, at most a segment's at once.
func fill(tb testing.TB, conn net.Conn, partition uint32, n int) {
	tb.Helper()
	payload := strings.Repeat("x", retentionMessage-iggywire.MessageHeaderSize)
	for n > 0 {
		batch := min(n, retentionBatch)
		n -= batch
		body := sendBodyTo(tb, partition, "s", "t", slices.Repeat([][]byte{message(1, payload)}, batch)...)
		if status, _ := roundTrip(tb, conn, iggywire.CodeSendMessages, body); status != iggywire.StatusOK {
			tb.Fatal(status)
		}
	}
}

// shape is what retention can be seen by.
type shape struct {
	Segments, Messages, Size, Current uint64
	First, Last                       int64 // offset of the first and last message that can be polled; -1: none
}

func shapes(tb testing.TB, conn net.Conn) []shape {
	tb.Helper()
	stream, topic := iggywire.NamedID("s"), iggywire.NamedID("t")
	partitions := partitionsOf(tb, conn)
	all := make([]shape, 0, len(partitions))
	for _, p := range partitions {
		s := shape{Segments: uint64(p.Segments), Messages: p.Messages, Size: p.Size, Current: p.CurrentOffset, First: -1, Last: -1}
		for _, strategy := range []iggywire.PollStrategy{iggywire.PollFirst, iggywire.PollOffset, iggywire.PollTimestamp, iggywire.PollNext, iggywire.PollLast} {
			r, err := iggywire.ParsePollResult(do(tb, conn, iggywire.Poll{
				Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NamedID("nobody")},
				Stream:   stream, Topic: topic, HasPartition: true, Partition: p.ID, Strategy: strategy, Count: 1000,
			}))
			if err != nil {
				tb.Fatal(err)
			}
			first, last := int64(-1), int64(-1)
			if r.Count > 0 {
				first = int64(iggywire.MessageOffset(r.Messages))
				last = int64(iggywire.MessageOffset(r.Messages[(r.Count-1)*retentionMessage:]))
			}
			if strategy == iggywire.PollFirst {
				s.First, s.Last = first, last
			}
			if first != s.First || last != s.Last || r.CurrentOffset != p.CurrentOffset {
				tb.Errorf("strategy %d polls %d-%d, current %d; by first it is %d-%d, current %d", strategy, first, last, r.CurrentOffset, s.First, s.Last, p.CurrentOffset)
			}
		}
		all = append(all, s)
	}
	return all
}

// TestRetention lets messages expire and topics outgrow their size: sealed
// segments go as a whole, the oldest first, the last one and what consumers still
// need stay; and a durable server that is started again knows all of it.
func TestRetention(t *testing.T) {
	type step struct {
		fill      []int // messages by partition
		storeAt   int64 // offset to store for a consumer of partition 0, -1: none
		pass      time.Duration
		wantAfter []shape // cleaning
	}
	for name, test := range map[string]struct {
		partitions uint32
		expiry     time.Duration
		maxSize    uint64
		steps      []step
	}{
		"nothing is asked for": {partitions: 1, steps: []step{
			{[]int{25}, -1, 1000 * time.Hour, []shape{{3, 25, 2500, 24, 0, 24}}},
		}},
		"age": {partitions: 1, expiry: 15 * time.Second, steps: []step{
			{[]int{10}, -1, 10 * time.Second, []shape{{2, 10, 1000, 9, 0, 9}}},
			{[]int{10}, -1, 5 * time.Second, []shape{{2, 10, 1000, 19, 10, 19}}},
			{[]int{15}, -1, 9 * time.Second, []shape{{3, 25, 2500, 34, 10, 34}}},
			{[]int{0}, -1, time.Second, []shape{{2, 15, 1500, 34, 20, 34}}},
			{[]int{0}, -1, time.Hour, []shape{{1, 5, 500, 34, 30, 34}}},
			{[]int{5}, -1, time.Hour, []shape{{1, 0, 0, 39, -1, -1}}},
			{[]int{1}, -1, time.Hour, []shape{{1, 1, 100, 40, 40, 40}}},
		}},
		"age and a consumer": {partitions: 1, expiry: time.Second, steps: []step{
			{[]int{35}, 8, time.Hour, []shape{{4, 35, 3500, 34, 0, 34}}},
			{[]int{0}, 9, time.Hour, []shape{{3, 25, 2500, 34, 10, 34}}},
			{[]int{0}, 34, time.Hour, []shape{{1, 5, 500, 34, 30, 34}}},
		}},
		"size": {partitions: 2, maxSize: 4000, steps: []step{
			{[]int{10, 10}, -1, time.Second, []shape{{2, 10, 1000, 9, 0, 9}, {2, 10, 1000, 9, 0, 9}}},
			{[]int{0, 15}, -1, time.Second, []shape{{2, 10, 1000, 9, 0, 9}, {3, 25, 2500, 24, 0, 24}}},
			{[]int{1, 0}, -1, time.Second, []shape{{1, 1, 100, 10, 10, 10}, {3, 25, 2500, 24, 0, 24}}},
			{[]int{0, 60}, -1, time.Second, []shape{{1, 1, 100, 10, 10, 10}, {4, 30, 3000, 84, 55, 84}}},
		}},
	} {
		configs, clock := retentionConfigs(t)
		for store, cfg := range configs {
			t.Run(name+"/"+store, func(t *testing.T) {
				s := startServer(t, cfg)
				conn := dial(t, s)
				login(t, conn)
				createRetentionTopic(t, conn, test.partitions, test.expiry, test.maxSize)
				for i, step := range test.steps {
					for partition, n := range step.fill {
						fill(t, conn, uint32(partition), n)
					}
					if step.storeAt >= 0 {
						do(t, conn, iggywire.StoreOffset{
							Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NamedID("c")},
							Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), HasPartition: true, Offset: uint64(step.storeAt),
						})
					}
					clock.advance(step.pass)
					if err := s.clean(); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(step.wantAfter, shapes(t, conn)); diff != "" {
						t.Fatalf("step %d (-want +got):\n%s", i, diff)
					}
					if cfg.InMemory {
						continue
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s = startServer(t, cfg)
					conn = dial(t, s)
					login(t, conn)
					if diff := cmp.Diff(step.wantAfter, shapes(t, conn)); diff != "" {
						t.Fatalf("step %d, after a restart (-want +got):\n%s", i, diff)
					}
				}
				// Nothing about the partition may be left behind by its deletion.
				do(t, conn, iggywire.DeleteTopic{Stream: iggywire.NamedID("s"), Topic: iggywire.NamedID("t")})
				records, err := s.store.load()
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					if strings.HasPrefix(r.key, segmentPrefix) {
						t.Errorf("record %q is left", r.key)
					}
				}
			})
		}
	}
}

// TestRetentionUpdate gives a topic a size of 0, which a real server takes for
// the smallest size of all.
func TestRetentionUpdate(t *testing.T) {
	configs, clock := retentionConfigs(t)
	s := startServer(t, configs["memory"])
	conn := dial(t, s)
	login(t, conn)
	createRetentionTopic(t, conn, 1, 0, 0)
	fill(t, conn, 0, 25)
	do(t, conn, iggywire.UpdateTopic{
		Stream: iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), Name: "t", Compression: iggywire.CompressionNone,
	})
	clock.advance(time.Hour)
	if err := s.clean(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]shape{{3, 25, 2500, 24, 0, 24}}, shapes(t, conn)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRetentionUnderLoad cleans as fast as it can while messages come and are
// polled from the front: a poll never fails and never goes back.
func TestRetentionUnderLoad(t *testing.T) {
	configs, _ := retentionConfigs(t)
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			cfg.Now, cfg.NoFsync = nil, true
			s := startServer(t, cfg)
			conn := dial(t, s)
			login(t, conn)
			createRetentionTopic(t, conn, 1, time.Microsecond, 0)
			sent := make(chan struct{})
			var others sync.WaitGroup
			others.Go(func() {
				for !isClosed(sent) {
					if err := s.clean(); err != nil {
						t.Error(err)
					}
				}
			})
			reader := dial(t, s)
			login(t, reader)
			others.Go(func() {
				first := uint64(0)
				for !isClosed(sent) {
					for _, strategy := range []iggywire.PollStrategy{iggywire.PollFirst, iggywire.PollTimestamp} {
						req := iggywire.Poll{
							Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
							Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), HasPartition: true, Strategy: strategy, Count: 25,
						}
						status, body, err := request(reader, req.Code(), req.AppendTo(nil))
						if err != nil || status != iggywire.StatusOK {
							t.Errorf("poll: %v, %v", status, err)
							return
						}
						r, err := iggywire.ParsePollResult(body)
						if err != nil {
							t.Error(err)
							return
						}
						if r.Count == 0 {
							continue
						}
						if offset := iggywire.MessageOffset(r.Messages); offset < first {
							t.Errorf("polled %d after %d", offset, first)
						} else {
							first = offset
						}
					}
				}
			})
			fill(t, conn, 0, 5000)
			close(sent)
			others.Wait()
		})
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestRetentionSpace looks at the tables on the disk: what retention takes away is
// given back soon, also when nobody writes any more.
func TestRetentionSpace(t *testing.T) {
	st, err := openPebble(vfs.Default, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	}()
	const entries, partitions = 40, 3 // of 1 MiB, more than fits in memory
	random := rand.NewChaCha8([32]byte{})
	var logs [partitions]messageLog
	for i := range logs {
		logs[i] = st.create(logID{incarnation: 1, partition: uint32(i)})
	}
	done := make(chan error, 1)
	for i := range uint64(entries) {
		for _, log := range logs {
			e := entry{base: i, count: 1, messages: make([]byte, 1<<20)}
			random.Read(e.messages) // cannot be compressed
			log.append(e, nil, func(err error) { done <- err })
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, log := range logs {
		log.trim(entries-2, nil, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	db := st.(*pebbleStore).db
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		live := uint64(0)
		tables, err := db.SSTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range tables {
			for _, table := range level {
				live += table.Size
			}
		}
		if live < entries*partitions/4<<20 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("tables still have %d bytes", live)
		case <-tick.C:
		}
	}
}

// TestEvery lets the cleaner's clock tick.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		var times []string
		go every(ctx, time.Minute, func() { times = append(times, fmt.Sprint(time.Since(start))) })
		time.Sleep(3*time.Minute + time.Second)
		stop()
		synctest.Wait()
		if diff := cmp.Diff([]string{"1m0s", "2m0s", "3m0s"}, times); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
