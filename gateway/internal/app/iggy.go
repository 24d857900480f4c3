// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// dialer connects to Iggy; nil goes over the network.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// openBridge connects to Iggy, giving up after connectTimeout. failing is called when it has to try again, perhaps several times.
func openBridge(ctx context.Context, cfg config.Config, addr string, dial dialer, failing func(), log *slog.Logger) (*bridge.Bridge, error) {
	tlsConfig, err := iggyTLS(cfg, addr)
	if err != nil {
		return nil, err
	}
	tell := retrying(cfg, addr, log)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	b, err := bridge.Open(ctx, bridge.Config{
		Addr:                addr,
		TLS:                 tlsConfig,
		Username:            cfg.IggyUsername,
		Password:            cfg.IggyPassword.Reveal(),
		Names:               cfg.Names,
		CreateStreams:       cfg.Embedded, // nobody else could have made them
		InternalTopics:      internalTopics(cfg),
		MaxWriteConnections: max(cfg.ProduceSessions, 1),
		IdleTimeout:         cfg.ProduceSessionIdle,
		TokenPrefix:         fmt.Sprintf("iggy-kafka-%d", cfg.InstanceID),
		Exclusive:           cfg.Exclusive.Matcher(),
		ProducerExpiry:      cfg.ProducerIDExpiration,
		MaxProducers:        cfg.MaxProducers,
		TailAge:             cfg.DedupTailAge,
		TailMin:             cfg.DedupTailMin,
		TailMax:             cfg.DedupTailMax,
		TailBytes:           cfg.DedupTailBytes,
		Retrying: func(why error) {
			failing()
			tell(why)
		},
		Dial:   dial,
		Logger: log,
	})
	if err != nil {
		return nil, iggyMistake(cfg, addr, err)
	}
	return b, nil
}

// iggyTLS is nil when connections to Iggy are plain.
func iggyTLS(cfg config.Config, addr string) (*tls.Config, error) {
	if !cfg.IggyTLSEnabled {
		return nil, nil
	}
	domain := cfg.IggyTLSDomain
	if domain == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("app: IGGY_KAFKA_IGGY_ADDR %s: %w", addr, err)
		}
		domain = host
	}
	authorities, err := cfg.IggyAuthorities()
	if err != nil {
		return nil, fmt.Errorf("app: IGGY_KAFKA_IGGY_TLS_CA_FILE %s: %w", cfg.IggyTLSCAFile, err)
	}
	return &tls.Config{ServerName: domain, MinVersion: tls.VersionTLS12, RootCAs: authorities}, nil
}

// detachedClusterID stands in for the id that comes from Iggy, in Kafka's form.
func detachedClusterID(instance int32) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "iggy-kafka detached %d", instance))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
