// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// A table has the ratios of each round, to the SDK on the same server and to the same client on Kafka, and neither
// columns nor rows of what was not measured.
func TestPrint(t *testing.T) {
	gateway, kafka := &harness.Target{Name: "separate"}, &harness.Target{Name: "kafka"}
	r := results{
		operation: operation{name: "produce", columns: throughputColumns(), work: workload.String},
		contestants: []contestant{
			{target: gateway, name: clientFranz}, {target: gateway, name: clientSDK}, {target: kafka, name: clientFranz}, {target: kafka, name: "java 16 KiB"},
		},
		measured: make([]measured, 4),
	}
	for _, rates := range [][4]float64{{100_000, 200_000, 50_000, none()}, {300_000, 200_000, 100_000, none()}} {
		for i, value := range rates {
			s := newSample()
			s[rate] = value
			r.measured[i].add(s)
		}
	}
	var out strings.Builder
	if err := r.print(&out, 2, workload{size: 100, partitions: 8, acks: "all", records: 1000}); err != nil {
		t.Fatal(err)
	}
	want := `produce: 1000 records of 100 bytes, 8 partitions, acks=all; rounds: 2

|  |  | records/s | MB/s | rate / SDK | rate / Kafka |
|---|---|---:|---:|---:|---:|
| separate | franz | 200000 (100000 – 300000) | 20.0 | 1.00 (0.50 – 1.50) | 2.50 (2.00 – 3.00) |
| separate | sdk | 200000 (200000 – 200000) | 20.0 | – | – |
| kafka | franz | 75000 (50000 – 100000) | 7.5 | – | – |

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
