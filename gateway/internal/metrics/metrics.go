// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// scrapeTimeout bounds what a scrape waits for Iggy; Prometheus waits for 10 s by default.
const scrapeTimeout = 5 * time.Second

// Source tells what one part of the gateway holds and has counted. ctx bounds its wait for others, which must not be long.
type Source func(ctx context.Context, e emitter, f *families)

// Metrics is what one gateway tells Prometheus. A nil one tells nothing, and may be used like any other.
type Metrics struct {
	build    buildinfo.Info
	families *families
	requests *requests
	runtime  *prometheus.Registry // Go and the process
	logger   *slog.Logger

	mu      sync.Mutex
	sources []Source // guarded by mu
}

// New returns the metrics of a gateway that serves that table. Requests count from now on; Watch says where to look for all
// else.
func New(build buildinfo.Info, table *wire.Table, logger *slog.Logger) *Metrics {
	m := &Metrics{
		build: build, families: newFamilies(), requests: newRequests(table), runtime: prometheus.NewRegistry(), logger: logger,
	}
	m.runtime.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observer is what counts requests; nil: nobody does.
func (m *Metrics) Observer() server.Observer {
	if m == nil {
		return nil
	}
	return m.requests
}

// Watch adds sources.
func (m *Metrics) Watch(sources ...Source) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sources = append(m.sources, sources...)
}

// Handler answers a scrape, in Prometheus' text format or OpenMetrics; nil: there is nothing to tell.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	opts := promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(m.logger.Handler(), slog.LevelWarn),
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		promhttp.HandlerFor(m.gatherer(r.Context()), opts).ServeHTTP(w, r)
	})
}

// gatherer is what one scrape asks, for as long as ctx lasts.
func (m *Metrics) gatherer(ctx context.Context) prometheus.Gatherer {
	gateway := prometheus.NewRegistry()
	gateway.MustRegister(scrape{m, ctx})
	return prometheus.Gatherers{m.runtime, gateway}
}

// scrape collects for one scrape: the library hands no context on.
type scrape struct {
	*Metrics
	ctx context.Context
}

// Describe implements prometheus.Collector.
func (s scrape) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range s.families.list {
		descs <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (s scrape) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(s.ctx, scrapeTimeout)
	defer cancel()
	s.collect(ctx, emitter(values))
}

func (m *Metrics) collect(ctx context.Context, e emitter) {
	m.mu.Lock()
	sources := slices.Clone(m.sources)
	m.mu.Unlock()
	f := m.families
	e.put(f.build, 1, m.build.Version, m.build.Commit, m.build.Go)
	m.requests.collect(e, f)
	for _, tell := range sources {
		tell(ctx, e, f)
	}
}
