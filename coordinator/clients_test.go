// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

const workPartitions = 12

// worker is a client as they are in the wild: it joins, syncs, sends heartbeats, and starts over as it is told.
type worker struct {
	driver   *coordinator.Driver
	name     string
	memberID string

	mu         sync.Mutex
	generation int32  // of the assignment; guarded by mu
	assigned   []byte // guarded by mu
	leads      bool   // guarded by mu
}

// run works until ctx ends. diesAsLeader kills a worker that has just become the leader, once; it then starts over
// as another member.
func (w *worker) run(ctx context.Context, diesAsLeader func() bool) {
	for ctx.Err() == nil {
		generation, err := w.join(ctx, diesAsLeader)
		for err == nil {
			time.Sleep(500 * time.Millisecond)
			err = w.driver.Heartbeat(ctx, "work", coordinator.Heartbeat{MemberID: w.memberID, Generation: generation})
		}
		if errors.Is(err, coordinator.ErrUnknownMemberID) {
			w.memberID = ""
		}
	}
}

var errDied = fmt.Errorf("died: %w", coordinator.ErrUnknownMemberID)

// join returns when the worker has an assignment.
func (w *worker) join(ctx context.Context, diesAsLeader func() bool) (int32, error) {
	j := joinAs(w.name)
	j.SessionTimeout = 6 * time.Second
	j.MemberID, j.RequireMemberID = w.memberID, true
	joined, err := w.driver.Join(ctx, "work", j)
	if joined.MemberID != "" {
		w.memberID = joined.MemberID
	}
	if err != nil {
		return 0, err
	}
	leads := joined.Leader == joined.MemberID
	if leads && diesAsLeader() {
		return 0, errDied
	}
	s := coordinator.Sync{MemberID: w.memberID, Generation: joined.Generation}
	for i, member := range joined.Members {
		a := coordinator.Assignment{MemberID: member.MemberID}
		for p := i; p < workPartitions; p += len(joined.Members) {
			a.Data = append(a.Data, byte(p))
		}
		s.Assignments = append(s.Assignments, a)
	}
	synced, err := w.driver.Sync(ctx, "work", s)
	if err == nil {
		w.mu.Lock()
		w.generation, w.assigned, w.leads = joined.Generation, synced.Assignment, leads
		w.mu.Unlock()
	}
	return joined.Generation, err
}

// TestClientsSettle has four workers come 100 ms apart, and the leader die between its join and its sync. However that
// goes, the group ends with every partition owned by exactly one of them, all in one generation, under one leader.
func TestClientsSettle(t *testing.T) {
	for round := range 50 {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(round), 0))
			d, _ := startDriver(t, coordinator.DriverConfig{})
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()

			deaths := make(chan struct{}, 2) // that are still to come
			for range rng.IntN(3) {
				deaths <- struct{}{}
			}
			dies := func() bool {
				select {
				case <-deaths:
					return true
				default:
					return false
				}
			}
			var workers []*worker
			for i := range 4 {
				w := &worker{driver: d, name: fmt.Sprint("w", i)}
				workers = append(workers, w)
				running.Go(func() { w.run(ctx, dies) })
				time.Sleep(100*time.Millisecond + time.Duration(rng.IntN(100))*time.Millisecond)
			}
			// Two deaths take a session or a sync timeout each.
			time.Sleep(3 * time.Minute)
			checkSettled(t, round, workers)
		})
	}
}

func checkSettled(t *testing.T, round int, workers []*worker) {
	t.Helper()
	owners := map[byte]string{}
	leaders := 0
	for _, w := range workers {
		w.mu.Lock()
		if w.generation != workers[0].generation {
			t.Errorf("round %d: %s is in generation %d, %s in %d", round, w.name, w.generation, workers[0].name, workers[0].generation)
		}
		if w.leads {
			leaders++
		}
		for _, p := range w.assigned {
			if other, ok := owners[p]; ok {
				t.Errorf("round %d: %s and %s own partition %d", round, other, w.name, p)
			}
			owners[p] = w.name
		}
		w.mu.Unlock()
	}
	if len(owners) != workPartitions || leaders != 1 {
		t.Errorf("round %d: %d of %d partitions owned, %d leaders", round, len(owners), workPartitions, leaders)
	}
}
