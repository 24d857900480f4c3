// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// slowCheck passes after a second, and counts how often it was made.
func slowCheck(made *int) Check {
	return Check{"iggy", func(ctx context.Context) error {
		*made++
		select {
		case <-time.After(time.Second):
			return nil
		case <-ctx.Done():
			return errors.New("does not answer in time")
		}
	}}
}

// Who asks while the checks are made gets what comes of these; who asks later, what comes of new ones.
func TestChecksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		r := NewReadiness([]Check{slowCheck(&made)}, nil)
		ready := make(chan bool, 10)
		for range cap(ready) {
			go func() {
				report, err := r.Ask(t.Context())
				ready <- err == nil && report.Ready()
			}()
		}
		for range cap(ready) {
			if !<-ready {
				t.Error("not ready")
			}
		}
		if made != 1 {
			t.Errorf("checked %d times", made)
		}
		if report, err := r.Ask(t.Context()); err != nil || !report.Ready() || made != 2 {
			t.Errorf("%v, %v, checked %d times", report, err, made)
		}
	})
}

// Who has begun the checks and goes leaves them to those who wait; who waits and goes, waits no longer.
func TestWhoGoesDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		r := NewReadiness([]Check{slowCheck(&made)}, nil)
		first, goFirst := context.WithCancel(t.Context())
		defer goFirst()
		go func() { _, _ = r.Ask(first) }()
		synctest.Wait()
		goFirst()
		second, goSecond := context.WithTimeout(t.Context(), time.Millisecond)
		defer goSecond()
		if _, err := r.Ask(second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who has gone: %v", err)
		}
		if report, err := r.Ask(t.Context()); err != nil || report.String() != "iggy: ok\n" || made != 1 {
			t.Errorf("%q, %v, checked %d times", report, err, made)
		}
	})
}

// However many want to know whether it is ready, a gateway looks alive.
func TestAliveBesideHangingChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		handler := NewHandler(ready(nil, slowCheck(&made)))
		ask := func(path string) int {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Code
		}
		for range 2 * maxReadiness {
			go ask("/readyz")
		}
		synctest.Wait()
		if code := ask("/healthz"); code != 200 {
			t.Errorf("health: %d", code)
		}
		if code := ask("/readyz"); code != 503 {
			t.Errorf("one too many: %d", code)
		}
		time.Sleep(time.Second) // all have their answers
	})
}
