// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestFinds runs what must go wrong, so that it is known that a whole run, and not only its oracle, can fail.
func TestFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	bin, err := harness.Build(t.Context(), "steppedclock")
	if err != nil {
		t.Fatal(err)
	}
	writer := ProducerPlan{Library: FranzGo, Idempotent: true, InFlight: 5, Burst: 5, Interval: 5 * time.Millisecond, Codec: "none"}
	for name, test := range map[string]struct {
		plan  Plan
		edit  func(*History)
		fault string
	}{
		// The gateway believes to be the only writer, and is not.
		"not exclusive": {
			plan: Plan{Topology: Separate, Exclusive: true, Producers: []ProducerPlan{
				writer, {Library: SDK, Burst: 1, Interval: 5 * time.Millisecond},
			}},
			fault: "of partition 0: it is at",
		},
		// The store forgets, and nobody says so.
		"forgetful": {
			plan: Plan{Topology: Losing, Producers: []ProducerPlan{writer}, Faults: []Fault{
				{At: time.Second, Where: Store, Kind: Kill},
			}},
			edit:  func(h *History) { h.Losses = nil },
			fault: "of partition 0: it is at []",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := test.plan
			plan.Partitions, plan.Length = 1, 2*time.Second
			plan.Consumers = []ConsumerPlan{{Library: FranzGo, FetchBytes: 1 << 20}}
			history, _, err := Execute(t.Context(), plan, bin, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if test.edit != nil {
				test.edit(history)
			}
			faults := strings.Join(Check(history).Faults, "\n")
			if !strings.Contains(faults, test.fault) {
				t.Errorf("found %q, want one with %q", faults, test.fault)
			}
		})
	}
}

// TestHearsLateCommits: what the network delivers late is known when the history is looked at.
func TestHearsLateCommits(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	bin, err := harness.Build(t.Context(), "steppedclock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	dir := t.TempDir()
	r := newRun(Plan{Topology: Embedded, Partitions: 1, Members: []ConsumerPlan{{Library: FranzGo}}}, bin, dir)
	defer r.close()
	if err := r.start(ctx, dir); err != nil {
		t.Fatal(err)
	}
	client, err := clients.DialRaw(ctx, r.scene.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Ask(ctx, kmsg.NewPtrApiVersionsRequest()); err != nil {
		t.Fatal(err)
	}
	r.clients.Hold()
	if err := client.Send(ctx, commitRequest(8, groupID, r.scene.topic, 42)); err != nil {
		t.Fatal(err)
	}
	if err := sleep(ctx, gathering); err != nil {
		t.Fatal(err)
	}
	r.clients.Orphan()
	r.clients.Release()
	heard := func(late []LateCommit) bool {
		return slices.ContainsFunc(late, func(c LateCommit) bool { return c.Offsets[0] == 42 })
	}
	for !heard(r.late.all()) {
		if err := sleep(ctx, time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	history, err := r.rest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !heard(history.Group.Late) {
		t.Errorf("the history has %v", history.Group.Late)
	}
}
