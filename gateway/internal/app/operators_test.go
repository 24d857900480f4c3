// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/statuspage"
)

// visitor is a user who counts how often he is held.
type visitor struct{ held *atomic.Int32 }

func (v visitor) Name() string { return "visitor" }
func (v visitor) Release()     { v.held.Add(-1) }
func (v visitor) Access(context.Context) (*permissions.Access, error) {
	return permissions.Everything(), nil
}

// The page's users are let go when operators are not served any more: before the gate that let them in is closed.
func TestOperatorsLetUsersGo(t *testing.T) {
	var held atomic.Int32
	gate := sasl.NewGate(sasl.Config{Concurrent: 1, Timeout: time.Minute, Authenticator: func(context.Context, string, []byte) (sasl.Principal, error) {
		held.Add(1)
		return visitor{&held}, nil
	}})
	defer gate.Close()
	log, addr := slog.New(slog.DiscardHandler), freeAddr(t)
	o, err := admit(t.Context(), load(t, "IGGY_KAFKA_ADMIN_ADDR="+addr), new(doors), log)
	if err != nil {
		t.Fatal(err)
	}
	o.login = statuspage.NewLogin(gate, log)
	page, err := statuspage.New(statuspage.Config{
		Login: o.login, Now: time.Now, Readiness: admin.NewReadiness(nil, nil).Ask,
		Snapshot: func(context.Context) (*overview.Snapshot, error) { return new(overview.Snapshot), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	o.server.Use(page)
	if status, _ := askPage(t, addr, "/settings", "visitor", "secret"); status != http.StatusOK || held.Load() != 1 {
		t.Errorf("answered %d, %d users held", status, held.Load())
	}
	if err := o.stop(); err != nil {
		t.Error(err)
	}
	if n := held.Load(); n != 0 {
		t.Errorf("%d users held after the end", n)
	}
}
