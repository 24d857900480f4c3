// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// A table has the ratios of each round, to the SDK on the same server, to the same client on the gateway for comparison and to
// that on Kafka, and neither columns nor rows of what was not measured.
func TestPrint(t *testing.T) {
	gateway, kafka := &harness.Target{Name: "separate"}, &harness.Target{Name: "kafka"}
	beside := &harness.Target{Name: "separate, beside"}
	r := results{
		operation: operation{name: "produce", columns: throughputColumns(), work: workload.String},
		contestants: []contestant{
			{target: gateway, name: clientFranz}, {target: gateway, name: clientSDK}, {target: kafka, name: clientFranz}, {target: kafka, name: "java 16 KiB"},
			{target: beside, name: clientFranz},
		},
		measured: make([]measured, 5),
	}
	for _, rates := range [][5]float64{{100_000, 200_000, 50_000, none(), 100_000}, {300_000, 200_000, 100_000, none(), 100_000}} {
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

|  |  | records/s | MB/s | rate / SDK | rate / beside | rate / Kafka |
|---|---|---:|---:|---:|---:|---:|
| separate | franz | 200000 (100000 – 300000) | 20.0 | 1.00 (0.50 – 1.50) | 2.00 (1.00 – 3.00) | 2.50 (2.00 – 3.00) |
| separate | sdk | 200000 (200000 – 200000) | 20.0 | – | – | – |
| kafka | franz | 75000 (50000 – 100000) | 7.5 | – | – | – |
| separate, beside | franz | 100000 (100000 – 100000) | 10.0 | – | – | 1.50 (1.00 – 2.00) |

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
