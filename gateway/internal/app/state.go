// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"sync"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/mirror"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
)

// startState opens the state log, giving up after connectTimeout, and starts to load it.
func startState(ctx context.Context, cfg config.Config, b *bridge.Bridge, log *slog.Logger) (*state.State, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	s, err := state.Start(ctx, state.Config{
		Groups:     coordinatorConfig(cfg),
		Bridge:     b,
		Topic:      cfg.StateTopic,
		Partitions: cfg.StatePartitions,
		Expiry:     cfg.StateExpiry,
		InstanceID: cfg.InstanceID,
		Logger:     log,
	})
	if err != nil {
		return nil, stateMistake(cfg, err)
	}
	return s, nil
}

// startMirror starts to copy committed offsets to native groups. The function that it returns ends that.
func startMirror(ctx context.Context, b *bridge.Bridge, log *slog.Logger) (m *mirror.Mirror, stop func()) {
	groups := b.NativeGroups()
	m = mirror.New(groups, log)
	// It outlives the request to stop: what is committed until the end is copied, too.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	return m, func() {
		cancel()
		running.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signOutTimeout)
		defer cancel()
		groups.Close(ctx)
	}
}

func coordinatorConfig(cfg config.Config) coordinator.Config {
	c := coordinator.DefaultConfig()
	c.MinSessionTimeout, c.MaxSessionTimeout = cfg.GroupMinSessionTimeout, cfg.GroupMaxSessionTimeout
	c.InitialRebalanceDelay = cfg.GroupInitialRebalanceDelay
	c.MaxGroupSize, c.MaxGroups, c.MaxMembers = cfg.GroupMaxSize, cfg.GroupMaxGroups, cfg.GroupMaxMembers
	c.OffsetsRetention = cfg.OffsetsRetention
	return c
}
