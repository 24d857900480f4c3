// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testLongPoll lets a consumer wait on an empty partition and measures how long after a write it is answered, again and
// again.
func testLongPoll(t *testing.T, target *harness.Target) {
	t.Run("kafka-write", func(t *testing.T) {
		// The gateway wakes its waiting fetches itself: at once, and not when it next looks for what native producers write.
		measureWakes(t, target, 150*time.Millisecond, func(t *testing.T, topic string, i int) {
			to := clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}
			produce(t, clients.Franz{Addr: target.Kafka}, to, plainRecords(1), int64(i))
		})
	})
	t.Run("native-write", func(t *testing.T) {
		// The gateway looks for what native producers write every 500 ms while a fetch waits.
		native := dialIggy(t, target)
		measureWakes(t, target, 3*time.Second, func(t *testing.T, topic string, i int) {
			native.send(t, topic, 0, native.message(t, "native"))
		})
	})
}

// measureWakes fails if the median time from the end of a write to the consumer's record is above most, three times: a machine
// may stumble, and be busy for a while.
func measureWakes(t *testing.T, target *harness.Target, most time.Duration, write func(t *testing.T, topic string, i int)) {
	const rounds, tries = 11, 3
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, 1)
	fetching := make(fetchHook, 100)
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(target.Kafka),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}),
		kgo.FetchMaxWait(10*time.Second), // far above what is allowed: waking up is what is measured
		kgo.WithHooks(fetching),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()

	var median time.Duration
	for try := range tries {
		if median = medianWake(t, consumer, fetching, rounds, func(i int) { write(t, topic, try*rounds+i) }); median <= most {
			return
		}
	}
	t.Errorf("woken after %v (median), want at most %v", median, most)
}

func medianWake(t *testing.T, consumer *kgo.Client, fetching fetchHook, rounds int, write func(i int)) time.Duration {
	t.Helper()
	var waits []time.Duration
	for i := range rounds {
		fetching.await(t)
		write(i)
		written := time.Now()
		fetches := consumer.PollFetches(within(t, limit))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, time.Since(written))
		if n := fetches.NumRecords(); n != 1 {
			t.Fatalf("round %d: %d records, want 1", i, n)
		}
	}
	slices.Sort(waits)
	t.Logf("woken after %v", waits)
	return waits[rounds/2]
}

// fetchHook receives a value for every Fetch request that franz-go sends.
type fetchHook chan struct{}

var _ kgo.HookBrokerWrite = fetchHook(nil)

// OnBrokerWrite is called by franz-go after a request was written.
func (h fetchHook) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == kmsg.Fetch.Int16() && err == nil {
		h <- struct{}{}
	}
}

func (h fetchHook) await(t *testing.T) {
	t.Helper()
	select {
	case <-h:
	case <-within(t, limit).Done():
		t.Fatal("the consumer sends no Fetch")
	}
}
