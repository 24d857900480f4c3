// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
)

// A session goes when nobody uses it any more, one in use stays, and after the last has gone the next one is watched as well.
func TestFetchSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := sessionExpiry{sessions: fetchsession.NewCache(fetchsession.Config{
			MaxSessions: 10, MaxPartitions: 10, MaxBytes: 1 << 20, EvictAfter: fetchSessionAge, Rand: rand.Reader,
		})}
		fetch := func(id, epoch int32) int32 {
			t.Helper()
			req := kmsg.NewPtrFetchRequest()
			req.Version, req.SessionID, req.SessionEpoch = 12, id, epoch
			if epoch == 0 {
				partitions := []kmsg.FetchRequestTopicPartition{kmsg.NewFetchRequestTopicPartition()}
				req.Topics = []kmsg.FetchRequestTopic{{Topic: "orders", Partitions: partitions}}
			}
			f, err := e.sessions.Begin(time.Now(), req)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Each(func(fetchsession.Part) {}); err != nil {
				t.Fatal(err)
			}
			id, err = f.Finish(time.Now(), func(func(*fetchsession.Part, fetchsession.Outcome) bool) {})
			if err != nil || id == 0 {
				t.Fatal(id, err)
			}
			e.begin()
			return id
		}
		expect := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if n := e.sessions.Stats().Sessions; n != want {
				t.Errorf("%s: %d sessions, want %d", when, n, want)
			}
		}
		fetch(0, 0) // whose client goes
		id := fetch(0, 0)
		for epoch := range int32(6) {
			time.Sleep(fetchSessionIdle / 3)
			fetch(id, epoch+1)
		}
		expect("one is in use", 1)
		time.Sleep(fetchSessionIdle - time.Second)
		expect("just before the end", 1)
		time.Sleep(fetchSessionIdle + time.Second)
		expect("nobody is there", 0)
		fetch(0, 0)
		time.Sleep(2 * fetchSessionIdle)
		expect("a later one", 0)
		if e.running.Load() {
			t.Error("the timer runs, for no session")
		}
	})
}
