// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// recorder notes what is stored, and fails as it is told.
type recorder struct {
	mu     sync.Mutex
	stored []string
	err    error
	delay  time.Duration
}

func (r *recorder) Store(ctx context.Context, t *bridge.Topic, group string, offsets []bridge.GroupOffset) error {
	select {
	case <-time.After(r.delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = append(r.stored, fmt.Sprint(group, " ", t.Name, " ", offsets))
	return r.err
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.stored, "; ")
	r.stored = nil
	return all
}

// run lets a mirror run in a bubble.
func run(t *testing.T, groups *recorder, test func(t *testing.T, m *Mirror, logs *bytes.Buffer, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		m := New(groups, slog.New(slog.NewTextHandler(&logs, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			m.Run(ctx)
			close(ended)
		}()
		stop := func() {
			cancel()
			<-ended
		}
		test(t, m, &logs, stop)
		stop()
	})
}

// A second after a commit the newest offset of each partition is stored, less one: Iggy stores what was read last.
func TestMirror(t *testing.T) {
	groups := &recorder{}
	run(t, groups, func(t *testing.T, m *Mirror, _ *bytes.Buffer, stop func()) {
		orders, internal := &bridge.Topic{Name: "orders"}, &bridge.Topic{Name: "state", Internal: true}
		m.Committed("b", orders, 1, 7)
		m.Committed("a", orders, 0, 3)
		m.Committed("a", orders, 2, 9)
		m.Committed("a", orders, 0, 5)
		m.Committed("a", orders, 2, 8) // backwards is as good
		m.Committed("a", orders, 3, 0)
		m.Committed("a", orders, 4, -1)
		m.Committed("a", internal, 0, 5)
		m.Committed(strings.Repeat("g", 247), orders, 0, 5)
		time.Sleep(interval - 1)
		synctest.Wait()
		if got := groups.take(); got != "" {
			t.Errorf("too early: %s", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := groups.take(); got != "kafka.cg.a orders [{0 4} {2 7}]; kafka.cg.b orders [{1 6}]" {
			t.Errorf("stored %s", got)
		}
		if got, want := m.Stats(), (Stats{Copied: 3}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		m.Committed(strings.Repeat("g", 246), orders, 0, 5)
		stop() // what waits is still copied
		if got := groups.take(); !strings.HasSuffix(got, "ggg orders [{0 4}]") {
			t.Errorf("stored at the end: %s", got)
		}
	})
}

// A slow or failing Iggy holds nobody up, what does not fit is left out, and the log says so, once a minute.
func TestMirrorBounds(t *testing.T) {
	groups := &recorder{delay: time.Hour}
	run(t, groups, func(t *testing.T, m *Mirror, logs *bytes.Buffer, _ func()) {
		orders := &bridge.Topic{Name: "orders"}
		m.Committed("a", orders, 0, 1)
		time.Sleep(2 * interval)
		synctest.Wait() // it is storing, for an hour
		for p := range int32(maxWaiting + 5) {
			m.Committed("b", orders, p, 1)
		}
		if got, want := m.Stats(), (Stats{Waiting: maxWaiting, Dropped: 5}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		for range 10 {
			m.Committed("a", orders, 0, 1)
			time.Sleep(storeTimeout)
		}
		synctest.Wait()
		if n := strings.Count(logs.String(), "not copied"); n != 2 {
			t.Errorf("%d lines in a hundred seconds:\n%s", n, logs)
		}
	})
}

// That a native consumer is at work, or that the topic is gone, is nobody's failure.
func TestMirrorLeavesOut(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{bridge.ErrGroupInUse, 0}, {bridge.ErrTopicNotFound, 0}, {errors.New("down"), 1},
	} {
		groups := &recorder{err: fmt.Errorf("bridge: %w", tc.err)}
		run(t, groups, func(t *testing.T, m *Mirror, logs *bytes.Buffer, _ func()) {
			m.Committed("a", &bridge.Topic{Name: "orders"}, 0, 1)
			time.Sleep(2 * interval)
			synctest.Wait()
			if n := strings.Count(logs.String(), "not copied"); n != tc.want {
				t.Errorf("%v: %d lines", tc.err, n)
			}
			if got, want := m.Stats(), (Stats{Failed: 1}); got != want {
				t.Errorf("%v: %+v, want %+v", tc.err, got, want)
			}
		})
	}
}
