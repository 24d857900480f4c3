// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !steppedclock

package main

import "time"

// wallClock is the system's.
func wallClock() func() time.Time { return time.Now }
