// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/principals"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// openGate has clients authenticate as users of Iggy, by the directory; nil: they do not.
func openGate(cfg config.Config, directory *principals.Directory, log *slog.Logger) *sasl.Gate {
	if !cfg.SASLEnabled {
		return nil
	}
	if cfg.PlainListener() {
		log.Warn("passwords cross the network in the clear: IGGY_KAFKA_SASL_ENABLED without TLS", "addr", cfg.BindAddr)
	}
	return sasl.NewGate(sasl.Config{
		Authenticator:  authenticator(directory),
		Concurrent:     cfg.MaxConcurrentAuthentications,
		Timeout:        cfg.PreAuthTimeout,
		RejectionDelay: cfg.SASLRejectionDelay,
		SecretUser:     principals.TokenUser,
	})
}

// authenticator signs clients in to Iggy.
func authenticator(directory *principals.Directory) sasl.Authenticator {
	return func(ctx context.Context, user string, password []byte) (sasl.Principal, error) {
		p, err := directory.SignIn(ctx, user, password)
		switch {
		case errors.Is(err, principals.ErrRefused):
			return nil, fmt.Errorf("%w: %w", sasl.ErrRefused, err)
		case err != nil:
			return nil, err
		}
		return p, nil
	}
}

// authentication is nil where clients do not authenticate.
func authentication(cfg config.Config) *server.Authentication {
	if !cfg.SASLEnabled {
		return nil
	}
	return &server.Authentication{Rules: sasl.NewRules(cfg.SASLSessionLifetime), Timeout: cfg.PreAuthTimeout}
}

// newTable is the table of what is served.
func newTable(cfg config.Config) *wire.Table {
	if cfg.SASLEnabled {
		return wire.NewTable(wire.Authentication())
	}
	return wire.NewTable()
}
