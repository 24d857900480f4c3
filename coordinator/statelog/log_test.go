// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

// gateway is one that runs, in a test.
type gateway struct {
	*statelog.Log
	t      *testing.T
	cancel context.CancelFunc
	result chan error

	mu  sync.Mutex
	log []string // guarded by mu
}

func (g *gateway) observe(e statelog.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log = append(g.log, e.String())
}

// events are the texts of what was observed, one a line.
func (g *gateway) events() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.log, "\n")
}

// startGateway runs a log on a storage and waits until it is loaded.
func startGateway(t *testing.T, storage statelog.Storage, boot string, change ...func(*statelog.Config)) *gateway {
	t.Helper()
	g := &gateway{t: t, result: make(chan error, 1)}
	cfg := statelog.Config{Storage: storage, BootID: boot, Observe: g.observe}
	for _, c := range change {
		c(&cfg)
	}
	log, err := statelog.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.Log = log
	ctx, cancel := context.WithCancel(t.Context())
	g.cancel = cancel
	go func() { g.result <- log.Run(ctx) }()
	select {
	case <-log.Loaded():
	case err := <-g.result:
		t.Fatalf("Run: %v", err)
	}
	return g
}

// stop ends the gateway and returns what Run did.
func (g *gateway) stop() error {
	g.cancel()
	return <-g.result
}

// commit stores an offset and returns what came of it.
func (g *gateway) commit(group, topic string, partition int32, position int64) error {
	done := make(chan error, 1)
	g.Groups().Append(group, []coordinator.Change{coordinator.OffsetCommitted{
		TopicPartition: coordinator.TopicPartition{Topic: topic, Partition: partition},
		Offset:         coordinator.Offset{Position: position, LeaderEpoch: -1, CommittedAt: time.Now()},
	}}, func(err error) { done <- err })
	return <-done
}

// offsets returns all offsets of a log's groups, as group/topic/partition=position.
func offsets(t *testing.T, load func(context.Context, func(string, coordinator.Change) error) error) []string {
	t.Helper()
	var list []string
	err := load(t.Context(), func(group string, change coordinator.Change) error {
		if c, ok := change.(coordinator.OffsetCommitted); ok {
			list = append(list, fmt.Sprintf("%s/%s/%d=%d", group, c.Topic, c.Partition, c.Position))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// stored returns the offsets that a gateway that starts now would find.
func stored(t *testing.T, s statelog.Storage) []string {
	t.Helper()
	return offsets(t, func(ctx context.Context, fn func(string, coordinator.Change) error) error {
		return statelog.ReadGroups(ctx, s, fn)
	})
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// The version of the settings changes with each of them, and only with them.
func TestSettingsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGateway(t, statelogtest.New(1), "a")
		for _, tc := range []struct {
			name    string
			changes bool
			do      func() error
		}{
			{"set", true, func() error { return g.SetTopicSettings(t.Context(), "id", "name", map[string]string{"a": "b"}) }},
			{"set anew", true, func() error { return g.SetTopicSettings(t.Context(), "id", "name", nil) }},
			{"log start", false, func() error {
				return g.SetLogStart(t.Context(), "id", "name", 0, statelog.LogStart{Offset: 1})
			}},
			{"commit", false, func() error { return g.commit("g", "t", 0, 1) }},
			{"drop", true, func() error { return g.DropTopic(t.Context(), "id") }},
		} {
			before := g.SettingsVersion()
			if err := tc.do(); err != nil {
				t.Fatal(err)
			}
			if after := g.SettingsVersion(); before == 0 || (after != before) != tc.changes {
				t.Errorf("%s: version %d, then %d", tc.name, before, after)
			}
		}
		if err := g.stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// The version of the quotas changes with each of them, only with them, and when those of an earlier run are loaded.
func TestQuotasVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		version := g.QuotasVersion()
		if version == 0 {
			t.Error("loaded, and the version is 0")
		}
		for _, tc := range []struct {
			name    string
			changes bool
			do      func() error
		}{
			{"set", true, func() error { return g.SetQuota(t.Context(), "q", map[string]string{"a": "b"}) }},
			{"settings", false, func() error { return g.SetTopicSettings(t.Context(), "id", "name", map[string]string{"a": "b"}) }},
			{"removed", true, func() error { return g.SetQuota(t.Context(), "q", nil) }},
			{"set again", true, func() error { return g.SetQuota(t.Context(), "q", map[string]string{"a": "c"}) }},
		} {
			if err := tc.do(); err != nil {
				t.Fatal(err)
			}
			after := g.QuotasVersion()
			if (after != version) != tc.changes {
				t.Errorf("%s: version %d, then %d", tc.name, version, after)
			}
			version = after
		}
		if err := g.stop(); err != nil {
			t.Fatal(err)
		}
		g = startGateway(t, s, "b")
		if g.QuotasVersion() == 0 || len(g.Quotas()) != 1 {
			t.Errorf("started again: version %d, %v", g.QuotasVersion(), g.Quotas())
		}
		if err := g.stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStateSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(2)
		g := startGateway(t, s, "a")
		for i := range int64(3) {
			if err := g.commit("g", "t", 0, i); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.commit("h", "t", 1, 7); err != nil {
			t.Fatal(err)
		}
		first, err := g.ReserveProducerIDs(t.Context(), 3, 100, 10)
		equal(t, int64(100), first)
		err = errors.Join(err, g.SetTopicSettings(t.Context(), "id", "name", map[string]string{"a": "b"}),
			g.SetLogStart(t.Context(), "id", "name", 2, statelog.LogStart{Offset: 5, Until: 50}),
			g.SetLogStart(t.Context(), "id", "name", 2, statelog.LogStart{Offset: 4, Until: 50}), // back
			g.SetLogStart(t.Context(), "id", "name", 3, statelog.LogStart{Offset: 6, Until: 60}),
			g.SetLogStart(t.Context(), "id", "name", 3, statelog.LogStart{}),
			g.SetLogStart(t.Context(), "cut", "other", 0, statelog.LogStart{Offset: 1, Until: 1}),
			g.SetLogStart(t.Context(), "whole", "third", 0, statelog.LogStart{Offset: 1, Until: 1}),
			g.SetLogStart(t.Context(), "whole", "third", 0, statelog.LogStart{}),
			g.SetQuota(t.Context(), "user", map[string]string{"rate": "1"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.stop(); err != nil {
			t.Fatal(err)
		}

		g = startGateway(t, s, "b")
		equal(t, []string{"g/t/0=2", "h/t/1=7"}, stored(t, s))
		first, err = g.ReserveProducerIDs(t.Context(), 3, 0, 1)
		if err != nil || first != 110 {
			t.Error(first, err)
		}
		settings, _ := g.TopicSettings("id")
		equal(t, map[string]string{"a": "b"}, settings)
		equal(t, map[int32]statelog.LogStart{2: {Offset: 4, Until: 50}}, g.LogStarts("id"))
		equal(t, map[int32]statelog.LogStart(nil), g.LogStarts("whole"))
		equal(t, map[string]string{"id": "name", "cut": "other"}, g.Topics())
		equal(t, map[string]map[string]string{"user": {"rate": "1"}}, g.Quotas())
		if err := g.stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Stats say how much there is, and how much of it a start has to read behind the newest checkpoint.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.CheckpointRecords = 10 })
		for i := range int64(5) {
			if err := g.commit("g", "t", int32(i), i); err != nil {
				t.Fatal(err)
			}
		}
		// Five offsets and their group; the record of who owns the partition is no part of the state.
		equal(t, []statelog.PartitionStats{{Entries: 6, Since: 6}}, g.Stats())
		for i := range int64(5) {
			if err := g.commit("g", "t", int32(i), i); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if !g.saw("checkpoint at") {
			t.Fatal("no checkpoint")
		}
		got := g.Stats()
		if at := got[0].Checkpoint; at.IsZero() || time.Since(at) > time.Hour {
			t.Errorf("the checkpoint was made at %v", at)
		}
		got[0].Checkpoint = time.Time{}
		equal(t, []statelog.PartitionStats{{Entries: 6}}, got)
		if err := g.stop(); err != nil {
			t.Error(err)
		}
	})
}
