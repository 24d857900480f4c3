// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build steppedclock

package main

import (
	"os"
	"time"
)

// wallClock is a clock for tests, which is off by what the file that STEPPED_CLOCK names says just then ("-1h"); it is
// right while there is none. Its times have no monotonic part: who takes the difference of two sees the step.
func wallClock() func() time.Time {
	file := os.Getenv("STEPPED_CLOCK")
	return func() time.Time {
		text, _ := os.ReadFile(file)
		off, _ := time.ParseDuration(string(text))
		return time.Now().Round(0).Add(off)
	}
}
