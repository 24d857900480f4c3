// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The driver forgets a request with its answer, also if nobody waits for that any more.
func TestDriverForgetsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := NewDriver(DriverConfig{Config: DefaultConfig()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- d.Run(ctx) }()
		<-d.Loaded()
		impatient, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := d.Join(impatient, "g", Join{
			SessionTimeout: 10 * time.Second, ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}},
		}); err == nil {
			t.Error("the join did not wait for the initial delay")
		}
		if err := d.Delete(ctx, "g"); err == nil {
			t.Error("a group with a member was deleted")
		}
		time.Sleep(time.Minute)
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if len(d.waiting) > 0 {
			t.Errorf("requests still known: %v", d.waiting)
		}
	})
}
