// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// scrape returns what a gateway tells of itself: values by series.
func scrape(ctx context.Context, t *testing.T, admin string) (text string, values map[string]float64) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", resp.Status, err, body)
	}
	values = map[string]float64{}
	for line := range strings.Lines(string(body)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if value == "" {
			series, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		} else {
			series += "}"
		}
		if values[series], err = strconv.ParseFloat(value, 64); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return string(body), values
}

// awaitValues scrapes until the series have the values that are wanted: a connection, for instance, takes a moment to close.
func awaitValues(t *testing.T, admin string, want map[string]float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, all := scrape(ctx, t, admin)
		got := map[string]float64{}
		for series := range want {
			if value, ok := all[series]; ok {
				got[series] = value
			}
		}
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// What clients do shows in a scrape.
func TestScrape(t *testing.T) {
	admin := freeAddr(t)
	addr, stop := start(t, load(t, "IGGY_KAFKA_ADMIN_ADDR="+admin, "IGGY_KAFKA_AUTO_CREATE_TOPICS=true"))
	awaitValues(t, admin, map[string]float64{"iggy_kafka_ready": 1, `iggy_kafka_readiness_check{check="iggy"}`: 1})

	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 3 {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Partition: 0, Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var read []*kgo.Record
	for len(read) < 3 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		read = append(read, fetches.Records()...)
	}
	if err := client.CommitRecords(ctx, read[0]); err != nil {
		t.Fatal(err)
	}
	missing := connect(t, addr)
	refused := kmsg.NewPtrOffsetForLeaderEpochRequest()
	refused.Version = 2
	topic, partition := kmsg.NewOffsetForLeaderEpochRequestTopic(), kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	topic.Topic, topic.Partitions = "nothing", append(topic.Partitions, partition)
	refused.Topics = append(refused.Topics, topic)
	missing.kafka(refused, kmsg.NewPtrOffsetForLeaderEpochResponse())

	broken := connect(t, addr)
	if _, err := broken.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00")); err != nil { // too short for a header
		t.Fatal(err)
	}
	awaitValues(t, admin, map[string]float64{
		`iggy_kafka_requests_total{api="Produce",error="NONE",version="13"}`:                                   3,
		`iggy_kafka_request_duration_seconds_count{api="Produce"}`:                                             3,
		`iggy_kafka_requests_total{api="OffsetForLeaderEpoch",error="UNKNOWN_TOPIC_OR_PARTITION",version="2"}`: 1,
		`iggy_kafka_request_bytes_total{api="OffsetForLeaderEpoch"}`:                                           43,
		`iggy_kafka_response_bytes_total{api="OffsetForLeaderEpoch"}`:                                          47,
		`iggy_kafka_connections_closed_total{cause="bad_length"}`:                                              1,
		`iggy_kafka_consumer_groups{state="Stable"}`:                                                           1,
		`iggy_kafka_consumer_group_members{group="readers",state="Stable"}`:                                    1,
		`iggy_kafka_consumer_group_lag{group="readers",partition="0",topic="orders"}`:                          2,
		`iggy_kafka_consumer_group_rebalances_total`:                                                           1,
		`iggy_kafka_state_log_loaded`:                                                                          1,
		`iggy_kafka_memory_budget_used_bytes{budget="decode"}`:                                                 0,
		`iggy_kafka_iggy_connections{role="control"}`:                                                          1,
		`iggy_kafka_unknown_outcomes_total`:                                                                    0,
	})
	client.Close()
	missing.Close()
	awaitValues(t, admin, map[string]float64{
		"iggy_kafka_connections":                                           0,
		`iggy_kafka_consumer_groups{state="Empty"}`:                        1,
		`iggy_kafka_consumer_groups{state="Stable"}`:                       0,
		`iggy_kafka_consumer_group_members{group="readers",state="Empty"}`: 0,
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Neither a password nor a token nor a user's name is told, whether it was right or not.
func TestScrapeTellsNoSecret(t *testing.T) {
	admin := freeAddr(t)
	addr, stop := start(t, load(t, "IGGY_KAFKA_ADMIN_ADDR="+admin, "IGGY_KAFKA_SASL_ENABLED=true", "IGGY_KAFKA_SASL_REJECTION_DELAY_MS=1",
		"IGGY_KAFKA_IGGY_USERNAME=gatekeeper", "IGGY_KAFKA_IGGY_PASSWORD=own-secret-word"))
	for _, test := range []struct {
		user, password string
		code           int16
	}{{"gatekeeper", "own-secret-word", 0}, {"somebody", "wrong-secret-word", 58}} {
		c := connect(t, addr)
		c.handshake(1)
		login, answer := kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLAuthenticateResponse()
		login.SASLAuthBytes = token(test.user, []byte(test.password))
		if c.kafka(login, answer); answer.ErrorCode != test.code {
			t.Fatalf("%s: %d", test.user, answer.ErrorCode)
		}
	}
	awaitValues(t, admin, map[string]float64{
		`iggy_kafka_authentications_total{outcome="accepted"}`:                                             1,
		`iggy_kafka_authentications_total{outcome="refused"}`:                                              1,
		`iggy_kafka_requests_total{api="SaslAuthenticate",error="SASL_AUTHENTICATION_FAILED",version="0"}`: 1,
		`iggy_kafka_connections_closed_total{cause="authentication_failed"}`:                               1,
	})
	text, _ := scrape(t.Context(), t, admin)
	for _, secret := range []string{"secret-word", "gatekeeper", "somebody", "127.0.0.1"} {
		if strings.Contains(text, secret) {
			t.Errorf("a scrape tells %q", secret)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
