// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package state runs what a gateway remembers beside records: the coordinator of consumer groups, and the state log in
// Iggy that holds groups, offsets, producer ids, topic settings, log starts and client quotas.
package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/producers"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
)

// Config says what state to keep, and where.
type Config struct {
	Groups coordinator.Config
	// Bridge leads to the Iggy that holds the state log; nil: state lasts as long as the process.
	Bridge *bridge.Bridge
	// Topic, Partitions and Expiry describe the state log's topic; the last two count only when it is made.
	Topic      string
	Partitions int32
	Expiry     time.Duration
	// InstanceID is this gateway's number.
	InstanceID int32
	Logger     *slog.Logger
}

// State is the coordinator and the state log at work.
type State struct {
	// Groups answers from the start on; until the state is loaded, that it is loading.
	Groups *coordinator.Driver
	// Log is nil without Iggy.
	Log *statelog.Log
	// ReserveIDs reserves producer ids of this gateway.
	ReserveIDs producers.Reserve
	// Quotas keeps the quotas of clients.
	Quotas quotas.Store

	topic     string
	logger    *slog.Logger
	running   *errgroup.Group
	failed    context.Context // ends when the state cannot be loaded, and at Stop
	cancel    context.CancelFunc
	swept     chan struct{} // closed when deleted topics were looked for once
	counts    counts
	read      *readCounter // nil without Log
	trouble   atomic.Pointer[trouble]
	overtaken sync.Once
	denied    chan error // that Iggy does not let the state be written, before it is loaded
}

// Start opens the state log within ctx, making its topic if it is missing, and starts everything. Loading goes on after it
// has returned.
func Start(ctx context.Context, cfg Config) (*State, error) {
	s := &State{topic: cfg.Topic, logger: cfg.Logger, ReserveIDs: producers.Forgetful(), Quotas: new(quotas.Memory), swept: make(chan struct{}), denied: make(chan error, 1)}
	drive := coordinator.DriverConfig{Config: cfg.Groups, Observe: s.observeGroups}
	if cfg.Bridge != nil {
		storage, err := cfg.Bridge.OpenStateStorage(ctx, bridge.StateStorageConfig{
			Topic: cfg.Topic, Partitions: cfg.Partitions, Expiry: cfg.Expiry,
		})
		if err != nil {
			return nil, fmt.Errorf("state: open the state log: %w", err)
		}
		s.read = &readCounter{Storage: storage}
		s.Log, err = statelog.New(statelog.Config{
			Storage: s.read, InstanceID: cfg.InstanceID, BootID: rand.Text(), Observe: s.observeLog,
		})
		if err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
		drive.Store, drive.Fenced = s.Log.Groups(), s.Log.Fenced()
		cfg.Bridge.UseLogStarts(s.Log)
		s.Quotas = s.Log
		s.ReserveIDs = func(ctx context.Context, least, n int64) (int64, error) {
			return s.Log.ReserveProducerIDs(ctx, cfg.InstanceID, least, n)
		}
	}
	var err error
	if s.Groups, err = coordinator.NewDriver(drive); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	s.run(context.WithoutCancel(ctx), cfg.Bridge)
	return s, nil
}

// run starts the goroutines that Stop waits for.
func (s *State) run(ctx context.Context, b *bridge.Bridge) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.running, s.failed = errgroup.WithContext(ctx)
	s.running.Go(func() error { return s.failure(s.Groups.Run(s.failed)) })
	if s.Log == nil {
		return
	}
	s.running.Go(func() error {
		select {
		case err := <-s.denied: // nothing would be served, and nobody would mend it
			return s.failure(err)
		case <-s.failed.Done():
			return nil
		}
	})
	// A gateway that was fenced serves on, but for groups: its coordinator refuses, and there is nothing to sweep.
	owning, lost := context.WithCancel(s.failed)
	s.running.Go(func() error {
		defer lost()
		return s.failure(s.Log.Run(s.failed))
	})
	s.running.Go(func() error {
		newSweeper(s.Groups, s.Log, b, s.logger).run(owning, s.swept)
		return nil
	})
}

// failure is why the gateway cannot go on, nil if it can.
func (s *State) failure(err error) error {
	if err == nil || errors.Is(err, statelog.ErrFenced) { // observeLog has said so
		return nil
	}
	return fmt.Errorf("state: topic %q: %w", s.topic, err)
}

// Fenced returns a channel that is closed when another gateway has taken the state over, nil if there can be none.
func (s *State) Fenced() <-chan struct{} {
	if s.Log == nil {
		return nil
	}
	return s.Log.Fenced()
}

// Ready returns nil if this gateway serves groups and remembers what it is told, else why not.
func (s *State) Ready() error {
	switch {
	case isClosed(s.Fenced()):
		return errors.New("another gateway has taken over")
	case isClosed(s.Failed()):
		return errors.New("cannot be loaded")
	case !isClosed(s.Groups.Loaded()):
		if s.trouble.Load() != nil {
			return errors.New("loading, which fails: iggy cannot be asked")
		}
		return errors.New("loading")
	}
	return nil
}

// trouble is a partition of the state log that Iggy cannot be asked about.
type trouble struct{ partition int }

// note keeps the last trouble until it is over.
func (s *State) note(e statelog.Event) {
	over := func(partition int) {
		if t := s.trouble.Load(); t != nil && t.partition == partition {
			s.trouble.CompareAndSwap(t, nil)
		}
	}
	switch e := e.(type) {
	case statelog.Failed:
		s.trouble.Store(&trouble{e.Partition})
	case statelog.Loaded:
		over(e.Partition)
	case statelog.Restored:
		over(e.Partition)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Failed returns a channel that is closed when the state cannot be loaded: Stop says why.
func (s *State) Failed() <-chan struct{} { return s.failed.Done() }

// Stop ends everything and returns why the state could not be loaded, if so. Who still waits is refused.
func (s *State) Stop() error {
	s.cancel()
	return s.running.Wait()
}

func (s *State) observeGroups(e coordinator.Effect) {
	s.counts.group(e)
	if s.logger.Enabled(context.Background(), slog.LevelDebug) {
		s.logger.Debug("consumer group", "event", e.String())
	}
}

func (s *State) observeLog(e statelog.Event) {
	s.counts.log(e)
	s.note(e)
	level := slog.LevelInfo
	switch e.(type) {
	case statelog.Checkpointed:
		level = slog.LevelDebug
	case statelog.Disagreed, statelog.Failed, statelog.Fenced:
		level = slog.LevelWarn
	}
	if failed, ok := e.(statelog.Failed); ok && bridge.IsUnauthorized(failed.Err) {
		level = slog.LevelError
		if !isClosed(s.Groups.Loaded()) {
			select {
			case s.denied <- failed.Err:
			default: // another partition was faster
			}
		}
	}
	s.logger.Log(context.Background(), level, "state log", "event", e.String())
	if _, ok := e.(statelog.Fenced); ok { // of each partition, and so said several times
		s.overtaken.Do(func() {
			s.logger.Error("another gateway has taken over the consumer groups: this one serves none any more",
				"what_to_do", "one gateway at a time may run in front of an iggy: stop one of the two")
		})
	}
}
