// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values       []float64
		want, middle string
	}{
		{nil, "–", "–"},
		{[]float64{none()}, "–", "–"},
		{[]float64{2}, "2.0", "2.0"},
		{[]float64{3, 1, 2}, "2.0 (1.0 – 3.0)", "2.0"},
		{[]float64{4, 1, none(), 2, 3}, "2.5 (1.0 – 4.0)", "2.5"},
	} {
		if got := spread("%.1f", test.values); got != test.want {
			t.Errorf("spread of %v: %s, want %s", test.values, got, test.want)
		}
		if got := middle("%.1f", test.values); got != test.middle {
			t.Errorf("middle of %v: %s, want %s", test.values, got, test.middle)
		}
	}
}

func TestRatios(t *testing.T) {
	if got := spread("%.2f", ratios([]float64{1, 3, none(), 8}, []float64{2, 2, 2, none()})); got != "1.00 (0.50 – 1.50)" {
		t.Error(got)
	}
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, test := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 50, 0},
		{[]time.Duration{7}, 50, 7},
		{[]time.Duration{7}, 99, 7},
		{[]time.Duration{3, 1, 2}, 50, 2},
		{[]time.Duration{4, 3, 1, 2}, 50, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
	} {
		if got := percentile(test.values, test.p); got != test.want {
			t.Errorf("%v%% of %v: %d, want %d", test.p, test.values, got, test.want)
		}
	}
}
