// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

// TestModel runs 100,000 random steps over the state log: what is restored comes out of its bytes.
func TestModel(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			coordinator.RunModel(t, seed, 10_000, newLogStore(t))
		})
	}
}

// logStore is a coordinator.Store on a state log that runs. Its Load reads the log anew, as a gateway that starts does.
type logStore struct {
	storage *statelogtest.Storage
	log     *statelog.Log
}

func newLogStore(t *testing.T) *logStore {
	s := &logStore{storage: statelogtest.New(2)}
	var err error
	s.log, err = statelog.New(statelog.Config{
		Storage: s.storage, BootID: "model", CheckpointRecords: 50, TailInterval: tailInterval, MaxMessage: 256,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.log.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	<-s.log.Loaded()
	return s
}

// tailInterval is short: between looks at the tail no checkpoint begins, and there would be few.
const tailInterval = time.Millisecond

func (s *logStore) Load(ctx context.Context, fn func(string, coordinator.Change) error) error {
	return statelog.ReadGroups(ctx, s.storage, fn)
}

// Append waits until done has been called.
func (s *logStore) Append(group string, changes []coordinator.Change, done func(error)) {
	ended := make(chan error, 1)
	s.log.Groups().Append(group, changes, func(err error) { ended <- err })
	done(<-ended)
}
