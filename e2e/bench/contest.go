// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// noRebalanceDelay spares consumers the wait for other members, as the broker's settings do.
const noRebalanceDelay = "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0"

// contest lets every client on every target do the same work in turn, for each workload, and prints a table for each
// operation.
func (p plan) contest(ctx context.Context, dir string, out io.Writer) (err error) {
	targets, err := p.startAll(ctx, dir)
	defer func() { err = errors.Join(err, closeTargets(targets)) }()
	if err != nil {
		return err
	}
	contestants, err := p.contestants(ctx, targets)
	if err != nil {
		return err
	}
	defer closeClients(contestants)

	warmUp := p.warmUp
	for _, w := range p.workloads() {
		results, err := p.rounds(ctx, contestants, w, warmUp)
		if err != nil {
			return err
		}
		warmUp = 0
		for _, r := range results {
			if err := r.print(out, p.pairs, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// besideSuffix is what the names of the gateways for comparison end in.
const besideSuffix = ", beside"

// startAll starts the targets, and those for comparison. What was started is returned also with an error.
func (p plan) startAll(ctx context.Context, dir string) ([]*harness.Target, error) {
	settings := append([]string{noRebalanceDelay}, p.settings...)
	targets, err := startTargets(ctx, p.targets, dir, settings...)
	if err != nil || p.beside == nil {
		return targets, err
	}
	others, err := startTargets(ctx, p.targets, filepath.Join(dir, "beside"), append(settings, p.beside...)...)
	for _, t := range others {
		t.Name += besideSuffix
	}
	return append(targets, others...), err
}

// operations are what the contestants do in a round, one after the other, on a topic of their own.
func (p plan) operations() []operation {
	switch p.measure {
	case measureLatency:
		return []operation{{"single writes", latencyColumns(), workload.String, singleWrites}}
	case measureCommits:
		return commitOperations()
	}
	all := []operation{{"produce", throughputColumns(), workload.String, client.produce}}
	if p.consume {
		all = append(all, operation{"consume", throughputColumns(), workload.String, client.consume})
	}
	return all
}

type operation struct {
	name    string
	columns []column
	work    func(w workload) string
	run     func(c client, ctx context.Context, topic string, w workload) (outcome, error)
}

func singleWrites(c client, ctx context.Context, topic string, w workload) (outcome, error) {
	begin := time.Now()
	timed, err := c.single(ctx, topic, w)
	return outcome{time.Since(begin), percentile(timed, 50), percentile(timed, 99)}, err
}

// rounds runs all contestants as often as the plan says. Who comes first changes with each round, so that nobody always
// runs after the same one.
func (p plan) rounds(ctx context.Context, contestants []contestant, w workload, warmUp int) ([]*results, error) {
	var all []*results
	operations := p.operations()
	for _, op := range operations {
		all = append(all, &results{operation: op, contestants: contestants, measured: make([]measured, len(contestants))})
	}
	for round := range warmUp + p.pairs {
		for turn := range contestants {
			i := (round + turn) % len(contestants)
			topic := fmt.Sprintf("bench-%d-%d-%d", time.Now().UnixNano(), round, i)
			samples, err := contestants[i].turn(ctx, topic, w, operations)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", contestants[i].name, contestants[i].target.Name, err)
			}
			for o, s := range samples {
				if round >= warmUp {
					all[o].measured[i].add(s)
				}
			}
		}
	}
	return all, nil
}

// turn is one contestant's part of a round.
func (c contestant) turn(ctx context.Context, topic string, w workload, operations []operation) ([]sample, error) {
	if err := c.client.create(ctx, topic, w.partitions); err != nil {
		return nil, fmt.Errorf("creating the topic: %w", err)
	}
	var samples []sample
	for _, op := range operations {
		s, err := c.measure(func() (outcome, error) { return op.run(c.client, ctx, topic, w) }, w)
		if err != nil && !errors.Is(err, errCannot) {
			return nil, fmt.Errorf("%s: %w", op.name, err)
		}
		samples = append(samples, s)
	}
	return samples, c.client.remove(ctx, topic)
}

// measure runs something and says what it took of the target's processes; what could not be measured is none.
func (c contestant) measure(run func() (outcome, error), w workload) (sample, error) {
	s := newSample()
	gateway, store := c.target.Gateway, c.target.IggyServer
	if c.target.Broker != nil {
		store = c.target.Broker
	}
	gatewayUse, storeUse := startUse(gateway), startUse(store)
	runtime.GC() // nobody is charged for what the others left behind
	o, err := run()
	if err != nil {
		return s, err
	}
	s[rate] = float64(w.records) / o.took.Seconds()
	if o.p50 > 0 {
		s[p50], s[p99] = o.p50.Seconds()*1e3, o.p99.Seconds()*1e3
	}
	s[gatewayCPU], s[gatewayPeak] = gatewayUse.end(w.records)
	s[storeCPU], s[storePeak] = storeUse.end(w.records)
	return s, nil
}

// use is what a process has used up to some moment.
type use struct {
	pid int
	cpu time.Duration
}

// startUse returns nil for a process that cannot be looked into: there is none, or it is no Linux.
func startUse(p *harness.Program) *use {
	if p == nil {
		return nil
	}
	cpu, err := cpuOf(p.PID())
	if err != nil || resetPeak(p.PID()) != nil {
		return nil
	}
	return &use{p.PID(), cpu}
}

// end returns seconds of processor time per million records, and the peak of the memory in MiB.
func (u *use) end(records int) (cpu, peak float64) {
	if u == nil {
		return none(), none()
	}
	now, err := cpuOf(u.pid)
	if err != nil {
		return none(), none()
	}
	bytes, err := memoryOf(u.pid, memoryPeak)
	if err != nil {
		return none(), none()
	}
	return (now - u.cpu).Seconds() / float64(records) * 1e6, float64(bytes) / (1 << 20)
}

// startTargets starts the kinds that are named, all that are there if none is. What was started is returned also with
// an error.
func startTargets(ctx context.Context, names []string, dir string, settings ...string) ([]*harness.Target, error) {
	kinds, err := kindsNamed(names)
	if err != nil {
		return nil, err
	}
	bin, err := harness.Build(ctx)
	if err != nil {
		return nil, err
	}
	var targets []*harness.Target
	for _, kind := range kinds {
		folder := filepath.Join(dir, kind.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return targets, fmt.Errorf("bench: %w", err)
		}
		target, err := kind.Start(ctx, bin, folder, settings...)
		if err != nil {
			return targets, fmt.Errorf("bench: %s: %w", kind.Name, err)
		}
		targets = append(targets, target)
	}
	return targets, nil
}

func kindsNamed(names []string) ([]harness.Kind, error) {
	kinds := slices.DeleteFunc(harness.Kinds(), func(k harness.Kind) bool { return k.Reference })
	kafka, err := harness.Kafka()
	if err == nil {
		kinds = append(kinds, kafka)
	}
	if names == nil {
		return kinds, nil
	}
	var named []harness.Kind
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k harness.Kind) bool { return k.Name == name })
		if i < 0 && name == kafka.Name {
			return nil, err
		}
		if i < 0 {
			return nil, fmt.Errorf("bench: no target %q here", name)
		}
		named = append(named, kinds[i])
	}
	return named, nil
}

func closeTargets(targets []*harness.Target) error {
	var errs []error
	for _, t := range targets {
		errs = append(errs, t.Close(context.Background()))
	}
	return errors.Join(errs...)
}
