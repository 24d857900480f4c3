// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// healthTimeout bounds the question whether a gateway lives.
const healthTimeout = 3 * time.Second

// checkHealth asks the gateway whose admin listener is at addr whether it lives: for containers, in which no other program is.
func checkHealth(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+config.Local(addr)+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: %s answers %s", req.URL, resp.Status)
	}
	return nil
}
