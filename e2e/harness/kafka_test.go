// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKafka starts the broker, writes a record, starts it again with the same data and reads the record.
func TestKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server: not in short mode")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // it may have to be fetched
	defer cancel()
	kind, err := Kafka()
	if errors.Is(err, ErrNoJava) && os.Getenv("REQUIRE_JAVA") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	target, err := kind.Start(ctx, Binaries{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := target.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()

	topic := "harness-" + strings.ToLower(rand.Text()[:8]) // a broker that KAFKA_ADDR names outlives the test
	client, err := kgo.NewClient(kgo.SeedBrokers(target.Kafka), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("value")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if target.Broker != nil { // none of ours when KAFKA_ADDR names it
		if err := target.Broker.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if err := target.Broker.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	fetches := client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if records := fetches.Records(); len(records) != 1 || string(records[0].Value) != "value" {
		t.Errorf("read %d records, want the one that was written", len(records))
	}
	if _, err := admin.DeleteTopic(ctx, topic); err != nil {
		t.Error(err)
	}
}
