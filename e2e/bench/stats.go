// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"
)

// sample is one pair's times for the same work.
type sample struct{ kafka, native time.Duration }

// series are the samples of a measurement.
type series []sample

// summary shows both rates and their ratio within the pairs; above 1, Kafka's way is the faster one.
func (s series) summary(records int) string {
	rate := func(d time.Duration) float64 { return float64(records) / d.Seconds() }
	var kafka, native, ratio []float64
	for _, x := range s {
		kafka = append(kafka, rate(x.kafka))
		native = append(native, rate(x.native))
		ratio = append(ratio, rate(x.kafka)/rate(x.native))
	}
	return fmt.Sprintf("kafka %s   iggy sdk %s   ratio %s", spread("%.0f", kafka), spread("%.0f", native), spread("%.2f", ratio))
}

// spread formats the median, the least and the most.
func spread(format string, values []float64) string {
	if len(values) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return fmt.Sprintf(format+" ("+format+" - "+format+")", median, sorted[0], sorted[n-1])
}
