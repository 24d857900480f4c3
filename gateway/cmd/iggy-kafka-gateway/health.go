// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

const (
	// healthTimeout bounds the question whether a gateway lives.
	healthTimeout = 3 * time.Second
	// maxHealth bounds what is read of the answer.
	maxHealth = 64
)

// checkHealth asks the gateway whose admin listener is at addr whether it lives, which it does once it has served clients: for
// containers, in which no other program is, and for those that wait until they are healthy.
func checkHealth(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+config.Local(addr)+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: %s answers %d", req.URL, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxHealth))
	switch {
	case err != nil:
		return fmt.Errorf("healthcheck: %w", err)
	case string(text) != admin.Alive:
		return fmt.Errorf("healthcheck: %s answers %q", req.URL, text)
	}
	return nil
}
