// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// settings is what Iggy holds of a topic.
type settings struct {
	Compression, Replication uint8
	Expiry, MaxSize          uint64
	Partitions               int
}

func (f *fakeIggy) settings(name string) settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.streams["kafka"].topics[name]
	return settings{t.compression, t.replication, t.expiry, t.maxSize, len(t.partitions)}
}

// native is a topic that a client of Iggy's own has made, with settings that Kafka does not know. It returns once views show it.
func native(f *fakeIggy, name string, s settings) {
	defer time.Sleep(2 * time.Second)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.createTopic(iggywire.CreateTopic{
		Stream: iggywire.NamedID("kafka"), Name: name, Partitions: uint32(s.Partitions),
		Compression: s.Compression, ReplicationFactor: s.Replication, MessageExpiry: s.Expiry, MaxSize: s.MaxSize,
	})
}

func find(t *testing.T, b *Bridge, name string) *Topic {
	t.Helper()
	view, err := b.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	top, ok := view.ByName(name)
	if !ok {
		t.Fatalf("no topic %q", name)
	}
	return top
}

const gib = 1 << 30

// What is changed is changed, and everything else stays as Iggy has it at that moment, also what has no meaning for Kafka and
// what others have changed since the topic was looked up.
func TestUpdateTopic(t *testing.T) {
	num := func(n uint64) *uint64 { return &n }
	before := settings{Compression: iggywire.CompressionGzip, Replication: 3, Expiry: 1500, MaxSize: 7 * gib, Partitions: 2}
	for name, tc := range map[string]struct {
		change TopicChange
		want   func(*settings)
	}{
		"nothing": {TopicChange{}, func(*settings) {}},
		"expiry":  {TopicChange{MessageExpiry: num(60)}, func(s *settings) { s.Expiry = 60 }},
		"none":    {TopicChange{MessageExpiry: num(iggywire.NeverExpire)}, func(s *settings) { s.Expiry = iggywire.NeverExpire }},
		"size":    {TopicChange{PartitionSize: num(2 * gib)}, func(s *settings) { s.MaxSize = 4 * gib }},
		"small":   {TopicChange{PartitionSize: num(1)}, func(s *settings) { s.MaxSize = gib }},
		"no size": {TopicChange{PartitionSize: num(iggywire.UnlimitedSize)}, func(s *settings) { s.MaxSize = iggywire.UnlimitedSize }},
		"both":    {TopicChange{MessageExpiry: num(60), PartitionSize: num(gib)}, func(s *settings) { s.Expiry, s.MaxSize = 60, 2*gib }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				native(f, "t", before)
				native(f, "zeros", settings{Compression: iggywire.CompressionNone, Replication: 1, Partitions: 1})
				old := find(t, b, "t")
				f.mu.Lock()
				f.streams["kafka"].topics["t"].replication = 5
				f.mu.Unlock()
				now, err := b.UpdateTopic(t.Context(), b.Self(), old, tc.change)
				if err != nil {
					t.Fatal(err)
				}
				want := before
				want.Replication = 5
				tc.want(&want)
				if diff := cmp.Diff(want, f.settings("t")); diff != "" {
					t.Error(diff)
				}
				if now.ID != old.ID || now.MessageExpiry != want.Expiry || now.MaxSize != want.MaxSize || now.Partitions != 2 {
					t.Errorf("returned %+v", now)
				}
				if seen := find(t, b, "t"); seen.MessageExpiry != want.Expiry || seen.MaxSize != want.MaxSize {
					t.Errorf("seen afterwards: %+v", seen)
				}
				// What an update by others has left at 0 is not made something else.
				if _, err := b.UpdateTopic(t.Context(), b.Self(), find(t, b, "zeros"), TopicChange{MessageExpiry: num(60)}); err != nil {
					t.Fatal(err)
				}
				if got := f.settings("zeros"); got.MaxSize != 0 || got.Expiry != 60 {
					t.Errorf("zeros: %+v", got)
				}
			})
		})
	}
}

func TestCreatePartitions(t *testing.T) {
	num := func(n uint64) *uint64 { return &n }
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		before := settings{Compression: iggywire.CompressionGzip, Replication: 3, Expiry: 1500, MaxSize: 2 * gib, Partitions: 2}
		native(f, "t", before)
		grow := func(total int32, size *uint64) error {
			return b.CreatePartitions(t.Context(), b.Self(), find(t, b, "t"), total, size)
		}
		want := before
		expect := func(step string) {
			t.Helper()
			if diff := cmp.Diff(want, f.settings("t")); diff != "" {
				t.Errorf("%s: %s", step, diff)
			}
			if n := find(t, b, "t").Partitions; int(n) != want.Partitions {
				t.Errorf("%s: %d partitions are seen", step, n)
			}
		}
		if err := grow(5, num(gib)); err != nil {
			t.Fatal(err)
		}
		want.Partitions, want.MaxSize = 5, 5*gib
		expect("grown")
		if err := grow(6, num(1)); err != nil {
			t.Fatal(err)
		}
		want.Partitions = 6
		expect("grown, without a size")
		for _, total := range []int32{6, 5, 0} {
			if err := grow(total, num(gib)); !errors.Is(err, ErrNotMore) {
				t.Errorf("to %d: %v", total, err)
			}
		}
		f.once(iggywire.CodeCreatePartitions, refuse)
		if err := grow(9, num(gib)); err == nil || IsUnknownOutcome(err) {
			t.Errorf("refused: %v", err)
		}
		expect("refused")
		f.once(iggywire.CodeCreatePartitions, dropAfter)
		if err := grow(9, num(gib)); !IsUnknownOutcome(err) {
			t.Errorf("answer lost: %v", err)
		}
		want.Partitions, want.MaxSize = 9, 9*gib
		expect("answer lost")
	})
}

// What is asked of a topic that is gone is not done to the one that has its name now.
func TestChangeAnotherIncarnation(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		old := topic(t, b, "t", 1)
		f.mu.Lock()
		delete(f.streams["kafka"].topics, "t")
		f.mu.Unlock()
		made := settings{Compression: iggywire.CompressionNone, Replication: 1, Expiry: 5, Partitions: 1}
		native(f, "t", made)
		expiry := uint64(60)
		if _, err := b.UpdateTopic(t.Context(), b.Self(), old, TopicChange{MessageExpiry: &expiry}); !IsNotFound(err) {
			t.Errorf("update: %v", err)
		}
		if err := b.CreatePartitions(t.Context(), b.Self(), old, 2, nil); !IsNotFound(err) {
			t.Errorf("create partitions: %v", err)
		}
		if diff := cmp.Diff(made, f.settings("t")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTopicSize(t *testing.T) {
	for _, tc := range []struct {
		each       uint64
		partitions int32
		want       uint64
	}{
		{5, 3, 15}, {5, 0, 5}, {0, 3, 0}, {iggywire.UnlimitedSize, 1, iggywire.UnlimitedSize}, {math.MaxInt64, 1000, iggywire.UnlimitedSize},
	} {
		if got := TopicSize(tc.each, tc.partitions); got != tc.want {
			t.Errorf("%d times %d: %d, want %d", tc.each, tc.partitions, got, tc.want)
		}
	}
}
