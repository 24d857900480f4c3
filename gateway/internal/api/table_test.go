// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/rand"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Every API that the wire table serves has a handler, with Iggy and without, and no other has.
func TestHandlersAreTheTables(t *testing.T) {
	table := wire.NewTable()
	var served []int16
	for _, api := range table.APIs() {
		if api.Served {
			served = append(served, api.Key)
		}
	}
	for name, b := range map[string]*bridge.Bridge{"with iggy": new(bridge.Bridge), "without": nil} {
		a := New(Config{}, Deps{Table: table, Bridge: b, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Reader, DecodeBudget: budget.New(1)})
		if diff := cmp.Diff(served, slices.Sorted(maps.Keys(a.handlers))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
