// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		name string
		s    series
		want string
	}{
		{"odd", series{{time.Second, 2 * time.Second}, {4 * time.Second, time.Second}, {2 * time.Second, 2 * time.Second}},
			"kafka 500 (250 - 1000)   iggy sdk 500 (500 - 1000)   ratio 1.00 (0.25 - 2.00)"},
		{"even", series{{time.Second, time.Second}, {2 * time.Second, time.Second}},
			"kafka 750 (500 - 1000)   iggy sdk 1000 (1000 - 1000)   ratio 0.75 (0.50 - 1.00)"},
		{"none", nil, "kafka none   iggy sdk none   ratio none"},
	} {
		if got := test.s.summary(1000); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
