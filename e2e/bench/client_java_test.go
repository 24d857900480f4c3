// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestParseProducerPerformance(t *testing.T) {
	const out = `1203344 records sent, 240668.8 records/sec (22.95 MB/sec), 822.8 ms avg latency, 1080.0 ms max latency.
2000000 records sent, 250000.0 records/sec (26.56 MB/sec), 884.26 ms avg latency, 1169.00 ms max latency, 901 ms 50th, 1127 ms 95th, 1161 ms 99th, 1167 ms 99.9th.
`
	want := outcome{took: 8 * time.Second, p50: 901 * time.Millisecond, p99: 1161 * time.Millisecond}
	if got, err := parseProducerPerformance(out); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{
		"",
		"org.apache.kafka.common.errors.TimeoutException: Topic t not present in metadata after 60000 ms.",
		"1203344 records sent, 240668.8 records/sec (22.95 MB/sec), 822.8 ms avg latency, 1080.0 ms max latency.",
		"0 records sent, 0.0 records/sec (0.00 MB/sec), 0.00 ms avg latency, 0.00 ms max latency, 0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th.",
	} {
		if got, err := parseProducerPerformance(bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestParseConsumerPerformance(t *testing.T) {
	const (
		head = "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
		line = "2025-11-29 20:00:00:000, 2025-11-29 20:00:01:000, 95.3674, 95.3674, 1000000, 1000000.0, 300, 500, 136.2, 2000000.0\n"
	)
	if got, err := parseConsumerPerformance(head+line, 1_000_000); err != nil || got != (outcome{took: time.Second / 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []struct {
		out     string
		records int
	}{
		{"", 1},
		{head, 1},
		{line, 1},
		{head + line, 1_000_001},
		{head + "a, b, c, d, 1, e, f, g, h, none\n", 1},
	} {
		if got, err := parseConsumerPerformance(bad.out, bad.records); err == nil {
			t.Errorf("%q: %+v", bad.out, got)
		}
	}
}
