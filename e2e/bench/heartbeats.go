// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// gatherDelay makes the first rebalance of a group wait for all its members: they come at once.
const gatherDelay = "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=500"

// heartbeats measures what the members of many groups that only heartbeat cost each gateway: its processor time and memory
// with the connections alone, then with the members.
func (p plan) heartbeats(ctx context.Context, dir string, out io.Writer) error {
	if err := raiseFileLimit(slices.Max(p.connections) + spareFiles); err != nil {
		return err
	}
	rows := [][]string{{"", "connections", "CPU % of a core, no members", "with members", "memory MiB, no members", "with members", "heartbeat p50 ms", "p99 ms"}}
	for _, n := range p.connections {
		more, err := p.heartbeatsOver(ctx, filepath.Join(dir, fmt.Sprint(n)), n)
		if err != nil {
			return fmt.Errorf("%d connections: %w", n, err)
		}
		rows = append(rows, more...)
	}
	_, err := fmt.Fprintf(out, "heartbeats: %d groups of %d members, each every %v, for %v\n\n%s\n", p.groups, p.members, p.interval, p.window, table(rows))
	return err
}

// heartbeatsOver makes a row for each target.
func (p plan) heartbeatsOver(ctx context.Context, dir string, connections int) (rows [][]string, err error) {
	targets, err := startTargets(ctx, p.targets, dir,
		append([]string{gatherDelay, fmt.Sprintf("IGGY_KAFKA_MAX_CONNECTIONS=%d", connections+spareFiles)}, p.settings...)...)
	defer func() { err = errors.Join(err, closeTargets(targets)) }()
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		row, err := p.heartbeatsOn(ctx, t, connections)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (p plan) heartbeatsOn(ctx context.Context, t *harness.Target, connections int) ([]string, error) {
	if t.Gateway == nil {
		return nil, errors.New("bench: there is no gateway to look into")
	}
	crowd, err := newCrowd(ctx, t.Kafka, connections)
	defer crowd.close()
	if err != nil {
		return nil, err
	}
	without, err := watch(t.Gateway.PID(), func() error { return pause(ctx, p.window) })
	if err != nil {
		return nil, err
	}
	if err := crowd.join(ctx, p.groups, p.members); err != nil {
		return nil, err
	}
	var timed []time.Duration
	with, err := watch(t.Gateway.PID(), func() (err error) {
		timed, err = crowd.beat(ctx, p.interval, p.window)
		return err
	})
	if err != nil {
		return nil, err
	}
	row := []string{t.Name, fmt.Sprint(connections)}
	for _, figure := range []float64{without.percent, with.percent, without.mib, with.mib} {
		row = append(row, fmt.Sprintf("%.1f", figure))
	}
	for _, p := range []float64{50, 99} {
		row = append(row, fmt.Sprintf("%.2f", percentile(timed, p).Seconds()*1e3))
	}
	return row, nil
}

// spent is what a process used during some time: percent of a core, and its memory at the end.
type spent struct{ percent, mib float64 }

func watch(pid int, run func() error) (spent, error) {
	before, err := cpuOf(pid)
	if err != nil {
		return spent{}, err
	}
	begin := time.Now()
	if err := run(); err != nil {
		return spent{}, err
	}
	took := time.Since(begin)
	after, err := cpuOf(pid)
	if err != nil {
		return spent{}, err
	}
	bytes, err := memoryOf(pid, memoryNow)
	return spent{(after - before).Seconds() / took.Seconds() * 100, float64(bytes) / (1 << 20)}, err
}

// crowd is the members of many groups on connections that they share: a server answers the requests of a connection one by one,
// so what it has to do is as much as if each had its own.
type crowd struct {
	conns   []net.Conn
	members [][]member // by connection
}

// newCrowd opens the connections; what was opened is returned also with an error.
func newCrowd(ctx context.Context, addr string, connections int) (*crowd, error) {
	c := &crowd{members: make([][]member, connections)}
	for range connections {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return c, err
		}
		c.conns = append(c.conns, conn)
		for _, request := range opening() {
			if _, err := exchange(conn, request); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (c *crowd) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}

// join returns when all groups are complete.
func (c *crowd) join(ctx context.Context, groups, members int) error {
	return atOnce(len(c.conns), func(i int) error {
		for _, group := range seats(groups, members, len(c.conns), i) {
			m, err := joinGroup(ctx, c.conns[i], fmt.Sprintf("bench-%d", group), "bench", members)
			if err != nil {
				return err
			}
			c.members[i] = append(c.members[i], m)
		}
		return nil
	})
}

// seats are the groups of which connection i of n has a member. A group's members are on connections next to each other, which
// have the same groups in the same order: a join is answered when the others have joined, and holds up what comes after it.
// n must be a multiple of members.
func seats(groups, members, n, i int) []int {
	var all []int
	for group := i / members; group < groups; group += n / members {
		all = append(all, group)
	}
	return all
}

// beat lets all members heartbeat and returns how long each heartbeat took.
func (c *crowd) beat(ctx context.Context, interval, window time.Duration) ([]time.Duration, error) {
	timed := make([][]time.Duration, len(c.conns))
	begin := time.Now()
	err := atOnce(len(c.conns), func(i int) error {
		members := c.members[i]
		if len(members) == 0 {
			return nil
		}
		for turn := 0; ; turn++ {
			due := beatAt(interval, len(members), len(c.conns), i, turn)
			if due >= window {
				return nil
			}
			if err := pause(ctx, due-time.Since(begin)); err != nil {
				return err
			}
			sent := time.Now()
			if err := members[turn%len(members)].heartbeat(c.conns[i]); err != nil {
				return err
			}
			timed[i] = append(timed[i], time.Since(sent))
		}
	})
	return slices.Concat(timed...), err
}

// beatAt spreads heartbeats evenly: when connection i of n, on which some members take turns, sends the one after turn others.
func beatAt(interval time.Duration, members, n, i, turn int) time.Duration {
	gap := interval / time.Duration(members)
	return gap*time.Duration(turn) + gap*time.Duration(i)/time.Duration(n)
}
