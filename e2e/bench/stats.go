// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// none is a value that was not measured. It takes part in no median, and every ratio with it is none, too.
func none() float64 { return math.NaN() }

// known returns the values that were measured, in ascending order.
func known(values []float64) []float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	return sorted
}

// median is none of no values.
func median(values []float64) float64 {
	sorted := known(values)
	n := len(sorted)
	if n == 0 {
		return none()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ratios divides value by value: what the rounds of two series gave.
func ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

// spread formats the median, and of several values the least and the most.
func spread(format string, values []float64) string {
	switch sorted := known(values); len(sorted) {
	case 0:
		return "–"
	case 1:
		return fmt.Sprintf(format, sorted[0])
	default:
		return fmt.Sprintf(format+" ("+format+" – "+format+")", median(sorted), sorted[0], sorted[len(sorted)-1])
	}
}

// middle formats the median alone.
func middle(format string, values []float64) string {
	if m := median(values); !math.IsNaN(m) {
		return fmt.Sprintf(format, m)
	}
	return "–"
}

// percentile returns the value that p percent of the durations do not exceed (the nearest rank), 0 of none. It sorts
// them.
func percentile(durations []time.Duration, p float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	rank := int(math.Ceil(p / 100 * float64(len(durations))))
	return durations[max(rank, 1)-1]
}
