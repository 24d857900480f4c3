// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/mirror"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

const (
	// scrapeTimeout bounds what a scrape waits for Iggy; Prometheus waits for 10 s by default.
	scrapeTimeout = 5 * time.Second
	// scrapesTogether is how many scrapes there may be at a time; others are refused.
	scrapesTogether = 4
)

// Sources are where a scrape looks. What is nil is left out.
type Sources struct {
	Checks   []admin.Check
	Overview interface {
		Snapshot(context.Context) (*overview.Snapshot, error)
	}
	Server interface{ Stats() server.Stats }
	API    interface{ Stats() api.Stats }
	Bridge interface{ Stats() bridge.Stats }
	State  interface{ Stats() state.Stats }
	Mirror interface{ Stats() mirror.Stats }
	// Budgets are those of the memory that connections share, by name.
	Budgets map[string]*budget.Budget
}

// Metrics is what one gateway tells Prometheus. A nil one tells nothing, and may be used like any other.
type Metrics struct {
	build    buildinfo.Info
	families *families
	requests *requests
	registry *prometheus.Registry
	logger   *slog.Logger

	mu      sync.Mutex
	sources Sources // guarded by mu
}

// New returns the metrics of a gateway that serves that table. Requests count from now on, all else once Watch has said where
// to look.
func New(build buildinfo.Info, table *wire.Table, logger *slog.Logger) *Metrics {
	m := &Metrics{
		build: build, families: newFamilies(), requests: newRequests(table), registry: prometheus.NewRegistry(), logger: logger,
	}
	m.registry.MustRegister(
		m,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Observer is what counts requests; nil: nobody does.
func (m *Metrics) Observer() server.Observer {
	if m == nil {
		return nil
	}
	return m.requests
}

// Watch adds sources, or replaces those that are there: what is nil stays as it is.
func (m *Metrics) Watch(s Sources) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	merge(&m.sources.Checks, s.Checks, s.Checks != nil)
	merge(&m.sources.Overview, s.Overview, s.Overview != nil)
	merge(&m.sources.Server, s.Server, s.Server != nil)
	merge(&m.sources.API, s.API, s.API != nil)
	merge(&m.sources.Bridge, s.Bridge, s.Bridge != nil)
	merge(&m.sources.State, s.State, s.State != nil)
	merge(&m.sources.Mirror, s.Mirror, s.Mirror != nil)
	merge(&m.sources.Budgets, s.Budgets, s.Budgets != nil)
}

func merge[T any](to *T, from T, there bool) {
	if there {
		*to = from
	}
}

// Handler answers a scrape, in Prometheus' text format or OpenMetrics; nil: there is nothing to tell.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.logger.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesTogether,
		EnableOpenMetrics:   true,
	})
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range m.families.list {
		descs <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	m.mu.Lock()
	s := m.sources
	m.mu.Unlock()
	e, f := emitter(values), m.families
	e.put(f.build, 1, m.build.Version, m.build.Commit, m.build.Go)
	collectReadiness(ctx, e, f, s.Checks)
	m.requests.collect(e, f)
	if s.Server != nil {
		collectServer(e, f, s.Server.Stats())
	}
	if s.API != nil {
		collectAPI(e, f, s.API.Stats())
	}
	if s.Bridge != nil {
		collectBridge(e, f, s.Bridge.Stats())
	}
	if s.State != nil {
		collectState(e, f, s.State.Stats())
	}
	if s.Mirror != nil {
		collectMirror(e, f, s.Mirror.Stats())
	}
	for name, b := range s.Budgets {
		collectBudget(e, f, name, b.Stats())
	}
	if s.Overview != nil {
		collectGroups(ctx, e, f, s.Overview.Snapshot)
	}
}
