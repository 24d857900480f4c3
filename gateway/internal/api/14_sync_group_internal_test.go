// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// silentStore takes changes and never says what became of them.
type silentStore struct{ *coordinator.MemoryStore }

func (silentStore) Append(string, []coordinator.Change, func(error)) {}

// A leader whose assignment is not stored is answered all the same, as by a broker after its offsets.commit.timeout.ms.
func TestSyncIsAnsweredWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := coordinator.DefaultConfig()
		cfg.InitialRebalanceDelay = 0
		groups, err := coordinator.NewDriver(coordinator.DriverConfig{Config: cfg, Store: silentStore{coordinator.NewMemoryStore()}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- groups.Run(ctx) }()
		defer func() {
			cancel()
			<-ran
		}()
		<-groups.Loaded()
		joined, err := groups.Join(ctx, "g", coordinator.Join{
			SessionTimeout: time.Hour / 4, RebalanceTimeout: time.Hour, ProtocolType: "consumer",
			Protocols: []coordinator.Protocol{{Name: "range"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		a := &API{Deps: Deps{Groups: groups, Stopping: t.Context()}}
		began := time.Now()
		_, err = a.sync(ctx, "g", coordinator.Sync{
			MemberID: joined.MemberID, Generation: joined.Generation, ProtocolType: "consumer", ProtocolName: "range",
			Assignments: []coordinator.Assignment{{MemberID: joined.MemberID, Data: []byte("all")}},
		})
		if got := a.groupCode(err); got != coordinatorNotAvailable || time.Since(began) != groupTimeout {
			t.Errorf("error %d (%v) after %v", got, err, time.Since(began))
		}
	})
}
