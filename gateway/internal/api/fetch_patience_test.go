// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A fetch without news is answered when its max_wait_ms are over (PB-44: 500 ± 50 ms), never before, in a session or without one
// and whatever it waits for. A busy machine may be late now and then, but not each time.
func TestFetchWaitsAsLongAsItMay(t *testing.T) {
	const wait, slack, tries = 500 * time.Millisecond, 50 * time.Millisecond, 20
	gw := shared(t)
	for name, change := range map[string]func(*kmsg.FetchRequest){
		"for a record":     func(*kmsg.FetchRequest) {},
		"for more than is": func(req *kmsg.FetchRequest) { req.MinBytes, req.Topics[0].Partitions[0].FetchOffset = 1<<20, 0 },
		"in a new session": func(req *kmsg.FetchRequest) { req.SessionEpoch = 0 },
		"with one missing": func(req *kmsg.FetchRequest) {
			req.Topics = append(req.Topics, fetchRequest(part{topic: "no-such-topic"}).Topics...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := gw.dial(t)
			topic := gw.newTopic(t, 1)
			c.produce(topic, 0, batch("v"))
			var all []time.Duration
			for range tries {
				req := fetchRequest(part{topic: topic, offset: 1})
				req.MaxWaitMillis = int32(wait.Milliseconds())
				change(req)
				began := time.Now()
				ask[*kmsg.FetchResponse](c, req)
				took := time.Since(began)
				if took < wait {
					t.Fatalf("answered after %v", took)
				}
				if all = append(all, took); took <= wait+slack {
					return
				}
			}
			t.Errorf("answered after %v", all)
		})
	}
}
