// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// While others hold the response budget an answer waits for it, and a connection whose answer gets none in the time
// that a client may take to read one is closed. What is small is answered all the same.
func TestAnswersWaitForBudget(t *testing.T) {
	const size = 4 << 20
	gw := start(t, setup{budget: size, tune: func(cfg *api.Config) { cfg.WriteTimeout = 300 * time.Millisecond }})
	topic := gw.newTopic(t, 1)
	c := gw.dial(t)
	c.produce(topic, 0, large(300_000))

	response := gw.budgets["response"]
	held := response.Largest() // all that large answers may have
	if err := response.Acquire(context.Background(), held); err != nil {
		t.Fatal(err)
	}
	starved := gw.dial(t)
	starved.send(fetchRequest(part{topic: topic}))
	starved.expectClosed()
	ask[*kmsg.ApiVersionsResponse](c, apiVersions(3))
	response.Release(held)
	if got := c.fetchAll(topic, 0); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}

// Metadata of all topics ends where the largest answer does, and says so to the operator.
func TestMetadataOfTooManyTopics(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.MaxResponseSize = 3000 }})
	for i := range 100 {
		gw.createTopic(t, fmt.Sprintf("topic-%03d", i), 1)
	}
	got := topicsOf(ask[*kmsg.MetadataResponse](gw.dial(t), metadataRequest(0)))
	if n := len(got); n < 10 || n == 100 || got[1] != "topic-000: 0" {
		t.Errorf("%d topics", n)
	}
	if !gw.logs.contains("cut at the largest answer") {
		t.Error("nothing was logged")
	}
}

// A fetch waits no longer than the gateway lets it, whatever the client asks.
func TestFetchWaitMax(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.FetchWaitMax = 200 * time.Millisecond }})
	topic := gw.newTopic(t, 1)
	req := fetchRequestAt(topic, 0)
	req.MaxWaitMillis = 1 << 30
	began := time.Now()
	ask[*kmsg.FetchResponse](gw.dial(t), req)
	if took := time.Since(began); took < 200*time.Millisecond || took > patience/2 {
		t.Errorf("took %v", took)
	}
}
