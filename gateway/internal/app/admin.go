// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
)

// listenAdmin takes the admin port; nil if there shall be none.
func listenAdmin(ctx context.Context, cfg config.Config) (net.Listener, error) {
	if cfg.AdminAddr == "" {
		return nil, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.AdminAddr)
	if err != nil {
		return nil, fmt.Errorf("app: IGGY_KAFKA_ADMIN_ADDR %s: %w", cfg.AdminAddr, err)
	}
	return l, nil
}

// adminHandler is what operators are served.
func adminHandler(cfg config.Config, checks []admin.Check) http.Handler {
	handler := admin.NewHandler(checks)
	if cfg.AdminPprof {
		return admin.WithProfiles(handler)
	}
	return handler
}

// readiness lists what the gateway needs to serve its clients. The texts name no address: anybody may read them.
func readiness(b *bridge.Bridge, remembered *state.State) []admin.Check {
	checks := []admin.Check{{Name: "consumer groups", Ready: func(context.Context) error { return remembered.Ready() }}}
	if b == nil {
		return checks
	}
	return append(checks, admin.Check{Name: "iggy", Ready: func(ctx context.Context) error {
		if _, err := b.Topics(ctx); err != nil {
			return errors.New("does not answer")
		}
		return nil
	}})
}
