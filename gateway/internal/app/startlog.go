// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

const (
	// progressEvery is how often something that takes long says how far it is.
	progressEvery = 5 * time.Second
	// lookUpTimeout bounds the look for the advertised hosts.
	lookUpTimeout = 5 * time.Second
	// iggyVersions begin the versions of Iggy whose protocol is spoken here.
	iggyVersions = "0.8."
)

// logStart says what starts, and with which settings that are not at their defaults.
func logStart(cfg config.Config, log *slog.Logger) error {
	changed, err := cfg.Changed()
	if err != nil {
		return fmt.Errorf("app: settings: %w", err)
	}
	settings := make([]any, len(changed))
	for i, s := range changed {
		settings[i] = slog.String(s.Variable, s.Value)
	}
	log.Info("starting", "version", cfg.Build.Version, "commit", cfg.Build.Commit, "go", cfg.Build.Go, "platform", cfg.Build.Platform,
		slog.Group("settings", settings...))
	return nil
}

// retrying returns what tells why there is no Iggy yet, each time that the reason changes: a start that waits looks like one that hangs.
func retrying(cfg config.Config, addr string, log *slog.Logger) func(error) {
	var told string
	return func(err error) {
		var met *Mistake
		if !errors.As(iggyMistake(cfg, addr, err), &met) || met.What == told {
			return
		}
		told = met.What
		log.Warn("iggy cannot be used yet: trying again", "error", met.What, "what_to_do", met.Do)
	}
}

// logIggy says which Iggy was connected to, and warns of one that may not be understood, and of a clock that is far off: Iggy stamps
// the records, retention and searches by time go by its stamps, and the gateway's own clock is the producers' stand-in.
func logIggy(ctx context.Context, cfg config.Config, addr string, b *bridge.Bridge, now func() time.Time, log *slog.Logger) {
	attrs := []any{"addr", addr, "user", cfg.IggyUsername, "stream", cfg.Names.Streams()[0]}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	asked := now()
	s, err := b.ServerStats(ctx)
	if err != nil { // a user needs no such permission
		why := err.Error()
		if bridge.IsUnauthorized(err) {
			why = "the user may not read servers"
		}
		log.Info("connected to iggy", append(attrs, "version", "unknown", "why", why)...)
		return
	}
	log.Info("connected to iggy", append(attrs, "version", s.ServerVersion)...)
	if !strings.HasPrefix(s.ServerVersion, iggyVersions) {
		log.Warn("this version of iggy may speak another protocol than the gateway", "version", s.ServerVersion, "understood", iggyVersions+"x")
	}
	if ahead := time.UnixMicro(int64(s.StartTime + s.RunTime)).Sub(asked); diagnosis.ClocksApart(ahead, 0) {
		log.Warn("iggy's clock and the gateway's are far apart", "iggy_ahead", ahead.Round(time.Second),
			"what_to_do", "have both machines follow a time server (NTP): records are kept and found by iggy's time")
	}
}

// warnOfSettings warns of what is right and dangerous.
func warnOfSettings(cfg config.Config, log *slog.Logger) {
	if !cfg.BridgeEnabled {
		log.Warn("nothing is stored: IGGY_KAFKA_BRIDGE_ENABLED=false", "what_to_do", "leave it out, but for looking at protocols")
	}
	if cfg.Embedded && cfg.DefaultPassword() && !config.LoopbackAddr(cfg.EmbeddedAddr) {
		log.Warn("other machines reach the embedded iggy, whose root user has the password that everybody knows", "addr", cfg.EmbeddedAddr,
			"what_to_do", "set IGGY_KAFKA_IGGY_PASSWORD or IGGY_KAFKA_IGGY_PASSWORD_FILE")
	}
	if cfg.Embedded && cfg.DefaultPassword() && cfg.SASLEnabled {
		log.Warn("clients may log in as iggy's root user with the password that everybody knows",
			"what_to_do", "set IGGY_KAFKA_IGGY_PASSWORD or IGGY_KAFKA_IGGY_PASSWORD_FILE")
	}
	if cfg.AdminAddr != "" && !cfg.SASLEnabled && !config.LoopbackAddr(cfg.AdminAddr) {
		log.Warn("other machines reach the status page and the metrics, without a login", "addr", cfg.AdminAddr,
			"what_to_do", "keep IGGY_KAFKA_ADMIN_ADDR to addresses that only operators reach, or set IGGY_KAFKA_SASL_ENABLED")
	}
}

// adviseAdvertised warns of addresses that clients are told and that are of no use to them, as far as that can be seen from here.
func (d *doors) adviseAdvertised(ctx context.Context, log *slog.Logger) {
	lookUp, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	for _, l := range d.open {
		host := l.AdvertisedHost
		_, err := netip.ParseAddr(host)
		switch {
		case config.Loopback(host):
			if !config.LoopbackAddr(l.Addr().String()) {
				log.Warn("clients on other machines are told to connect to themselves", "addr", l.Addr().String(), "advertised", host,
					"what_to_do", "set IGGY_KAFKA_ADVERTISED_HOST to a name or address by which clients reach this machine")
			}
		case err != nil:
			if _, err := net.DefaultResolver.LookupNetIP(lookUp, "ip", host); err != nil && ctx.Err() == nil {
				log.Warn("clients are told to connect to a host that this machine does not know", "advertised", host, "error", err,
					"what_to_do", "set IGGY_KAFKA_ADVERTISED_HOST to a name that clients can look up; iggy-kafka-gateway doctor, run where they are, shows what they meet")
			}
		}
	}
}

// progress logs how far something is, every so often until over is closed or what it returns is called.
func progress(ctx context.Context, over <-chan struct{}, log *slog.Logger, doing string, far func() []any) (done func()) {
	return inBackground(ctx, func(ctx context.Context) {
		began, tick := time.Now(), time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-over:
				return
			case <-tick.C:
				log.Info(doing, append([]any{"for", time.Since(began).Round(time.Second)}, far()...)...)
			}
		}
	})
}

// inBackground does something until it is done or what it returns is called, which waits for that.
func inBackground(ctx context.Context, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var doing sync.WaitGroup
	doing.Go(func() { do(ctx) })
	return func() {
		cancel()
		doing.Wait()
	}
}
