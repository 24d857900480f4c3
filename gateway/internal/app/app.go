// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package app puts the gateway together: what starts in which order, and stops in the reverse one.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/metrics"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/principals"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

const (
	// connectTimeout ends a start that cannot reach Iggy.
	connectTimeout = 15 * time.Second
	// signOutTimeout bounds how long connections to Iggy may take to sign out at the end.
	signOutTimeout = 5 * time.Second
	// nativeConnections is how many native clients an embedded Iggy has room for at least.
	nativeConnections = 1024
	// maxInFlight is how many requests of one connection are read ahead.
	maxInFlight = 64
)

// noInstanceID warns of the number that a second gateway would have, too.
const noInstanceID = "IGGY_KAFKA_INSTANCE_ID is not set: give every gateway in front of one iggy its own"

// internalTopics are those that clients may read and not change: the gateway's own state, and Kafka's transactions.
func internalTopics(cfg config.Config) []string {
	return []string{cfg.StateTopic, config.TransactionTopic}
}

// Run serves until ctx is done, then shuts down in good order: no new connections, what is in flight is answered, the
// connections to Iggy sign out, the embedded Iggy closes. It returns nil after that, and an error when the gateway
// could not start or had to stop.
//
// Now is the wall clock, which may step: it says what time it is, to records and ids. How long something takes or waits
// is not its business. Each signal on reload has the TLS files read again; it may be nil.
func Run(ctx context.Context, cfg config.Config, now func() time.Time, reload <-chan os.Signal, log *slog.Logger) (err error) {
	if err := logStart(cfg, log); err != nil {
		return err
	}
	defer func(began time.Time) {
		if err == nil { // else the error is the last word
			log.Info("stopped", "after", time.Since(began).Round(time.Millisecond))
		}
	}(time.Now())
	// The ports are taken first: nothing else should start when another process has one of them.
	doors, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer doors.close()
	operators, err := admit(ctx, cfg, doors, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, operators.stop()) }()

	iggyAddr := cfg.IggyAddr
	var dial dialer
	if cfg.Embedded {
		operators.step("starting the embedded iggy")
		iggy, err := startEmbedded(ctx, cfg, now)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, iggy.Close()) }()
		iggyAddr, dial = iggy.Addr().String(), iggy.Dial
		log.Info("embedded iggy started", "addr", iggyAddr, "store", cfg.EmbeddedStore)
	}

	var b *bridge.Bridge
	var directory *principals.Directory // nil without b
	clusterID := detachedClusterID(cfg.InstanceID)
	if cfg.BridgeEnabled {
		operators.step("connecting to iggy")
		log.Info("connecting to iggy", "addr", iggyAddr, "give_up_after", connectTimeout)
		b, err = openBridge(ctx, cfg, iggyAddr, dial, func() { operators.step("connecting to iggy, which fails: the log says why") }, log)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // asked to stop while it still connected
		case err != nil:
			return err
		}
		operators.step("connected to iggy: asking which version it is")
		clusterID = b.ClusterID()
		directory = principals.Open(b, cfg.ProduceSessionIdle)
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signOutTimeout)
			defer cancel()
			directory.Close(ctx)
			b.Close(ctx)
		}()
		logIggy(ctx, cfg, iggyAddr, b, now, log)
	}
	operators.step("opening the state of the consumer groups")
	if !cfg.InstanceIDSet && cfg.BridgeEnabled && !cfg.Embedded { // nobody else uses an embedded one
		log.Warn(noInstanceID, "instance_id", cfg.InstanceID)
	}

	remembered, err := startState(ctx, cfg, b, log)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	defer func() {
		if failed := remembered.Stop(); failed != nil {
			err = errors.Join(err, stateMistake(cfg, failed))
		}
	}()
	loaded := progress(ctx, remembered.Groups.Loaded(), log, "loading the state of the consumer groups", func() []any {
		messages, bytes := remembered.Read()
		return []any{"messages", messages, "bytes", bytes, "state", remembered.Ready()}
	})
	defer loaded()

	stopping, stop := context.WithCancel(ctx) // also when it is not asked to
	defer stop()
	ready := admin.NewReadiness(checks(b, remembered), stopping.Done())
	warnOfSettings(cfg, log)
	seen := newOverview(b, remembered)
	meters := newMetrics(cfg, cfg.Build, ready, b, remembered, seen, log)

	var copies api.Mirror
	if cfg.NativeOffsetMirror {
		m, stop := startMirror(ctx, b, log)
		defer stop()
		copies = m
		meters.Watch(metrics.Mirror(m))
	}

	logins := openGate(cfg, directory, log)
	if logins != nil {
		meters.Watch(metrics.Logins(logins))
		defer logins.Close()
	}

	srv, err := newServer(stopping, cfg, b, logins, remembered, copies, clusterID, now, meters, log)
	if err != nil {
		return err
	}
	defer operators.stop() // before anything that they are shown
	err = operated{
		cfg: cfg, build: cfg.Build, clusterID: clusterID, iggyAddr: iggyAddr, doors: doors, server: srv, seen: seen, logins: logins,
		readiness: ready, meters: meters.Handler(), now: now, log: log,
	}.show(operators)
	if err != nil {
		return err
	}
	stopFollowing := doors.follow(ctx, reload, log)
	defer stopFollowing()
	served := doors.serve(srv, clusterID, log)
	advised := inBackground(ctx, func(ctx context.Context) { doors.adviseAdvertised(ctx, log) })
	defer advised()

	select {
	case err = <-served:
		err = fmt.Errorf("app: serve: %w", err)
	case <-remembered.Failed():
		log.Error("shutting down: the state of the consumer groups cannot be loaded")
	case <-ctx.Done():
		log.Info("shutting down", "why", context.Cause(ctx), "drain", cfg.ShutdownDrainTimeout)
	}
	stop()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownDrainTimeout)
	defer cancel()
	drained := progress(drain, nil, log, "draining", func() []any { return []any{"connections", srv.Stats().Open} })
	defer drained()
	if down := srv.Shutdown(drain); down != nil {
		log.Warn("requests cut off at the end of the drain", "err", down)
	}
	return err
}

func startEmbedded(ctx context.Context, cfg config.Config, now func() time.Time) (*embedded.Server, error) {
	ec := embedded.Config{
		Addr:     cfg.EmbeddedAddr,
		NoFsync:  !cfg.EmbeddedFsync,
		Username: cfg.IggyUsername,
		Password: cfg.IggyPassword.Reveal(),
		Now:      now,
		// Beside native clients, the users of all Kafka clients have connections of their own, for reads and for writes.
		MaxConnections: nativeConnections + 2*cfg.MaxConnections + cfg.ProduceSessions,
	}
	if cfg.EmbeddedStore == config.StoreMemory {
		ec.InMemory = true
	} else {
		ec.DataDir = cfg.DataDir
	}
	iggy, err := embedded.Start(ctx, ec)
	if err != nil {
		return nil, embeddedMistake(cfg, err)
	}
	return iggy, nil
}

// newServer puts the parts that answer together; stopping ends when the gateway is about to stop.
func newServer(stopping context.Context, cfg config.Config, b *bridge.Bridge, logins *sasl.Gate, remembered *state.State, copies api.Mirror, clusterID string, now func() time.Time, meters *metrics.Metrics, log *slog.Logger) (*server.Server, error) {
	codec, err := recordcodec.ParseCodec(cfg.FetchCompression)
	if err != nil {
		return nil, fmt.Errorf("app: IGGY_KAFKA_FETCH_COMPRESSION: %w", err)
	}
	settings, err := cfg.Settings()
	if err != nil {
		return nil, fmt.Errorf("app: settings: %w", err)
	}
	table := newTable(cfg)
	frames, decode, response := budget.New(cfg.FrameBudget), budget.New(cfg.DecodeBudget), budget.New(cfg.ResponseBudget)
	handler := api.New(api.Config{
		NodeID:            cfg.InstanceID,
		ClusterID:         clusterID,
		InternalTopics:    internalTopics(cfg),
		AutoCreateTopics:  cfg.AutoCreateTopics,
		DefaultPartitions: cfg.DefaultPartitions,
		FetchCompression:  codec,
		FetchMaxBytes:     int(cfg.FetchMaxBytes),
		FetchWaitMax:      cfg.FetchWaitMax,
		ProduceTimeoutMax: cfg.ProduceTimeoutMax,
		PartitionCap:      int(cfg.MaxDecompressedSize),
		MaxMessageSize:    cfg.IggyMaxMessageSize,
		MaxResponseSize:   int(cfg.MaxResponseSize),
		WriteTimeout:      cfg.WriteTimeout,
		Settings:          settings,
	}, api.Deps{
		Table:          table,
		Bridge:         b,
		Groups:         remembered.Groups,
		Topics:         remembered.Log,
		ReserveIDs:     remembered.ReserveIDs,
		Quotas:         remembered.Quotas,
		Fenced:         remembered.Fenced(),
		Logins:         logins,
		Mirror:         copies,
		Stopping:       stopping,
		DecodeBudget:   decode,
		ResponseBudget: response,
		Logger:         log,
		Now:            now,
		Rand:           rand.Reader,
	})
	srv := server.New(server.Config{
		Table:           table,
		Logger:          log,
		MaxConnections:  cfg.MaxConnections,
		MaxInFlight:     maxInFlight,
		MaxFrameSize:    cfg.MaxFrameSize,
		MaxResponseSize: cfg.MaxResponseSize,
		FrameBudget:     frames,
		DecodeBudget:    decode,
		ResponseBudget:  response,
		Authentication:  authentication(cfg),
		Observer:        meters.Observer(),
		IdleTimeout:     cfg.IdleTimeout,
		ReadTimeout:     cfg.ReadTimeout,
		WriteTimeout:    cfg.WriteTimeout,
	}, handler)
	meters.Watch(metrics.Server(srv), metrics.API(handler),
		metrics.Budget("frame", frames), metrics.Budget("decode", decode), metrics.Budget("response", response))
	return srv, nil
}
