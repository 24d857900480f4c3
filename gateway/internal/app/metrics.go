// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"log/slog"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/metrics"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
)

// newMetrics counts what the gateway does, if there is somebody to ask for it: nil when operators are not served. Of parts that
// start later it is told by its Watch.
func newMetrics(cfg config.Config, build buildinfo.Info, ready *admin.Readiness, b *bridge.Bridge, remembered *state.State, seen *overview.Source, log *slog.Logger) *metrics.Metrics {
	if cfg.AdminAddr == "" {
		return nil
	}
	m := metrics.New(build, newTable(cfg), log)
	m.Watch(metrics.Readiness(ready), metrics.State(remembered), metrics.Groups(seen.Snapshot))
	if b != nil {
		m.Watch(metrics.Bridge(b))
	}
	return m
}

// newOverview looks at topics and groups.
func newOverview(b *bridge.Bridge, remembered *state.State) *overview.Source {
	if b == nil {
		return overview.New(nil, remembered.Groups)
	}
	return overview.New(b, remembered.Groups)
}
