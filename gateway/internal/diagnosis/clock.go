// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import "time"

// clockTolerance is how far two clocks may differ that nobody has to look at. What Iggy says of its clock is in seconds.
const clockTolerance = 5 * time.Second

// ClocksApart says whether two clocks differ by more than is of no matter, where the one seems to be ahead of the other by that
// much, give or take within.
func ClocksApart(ahead, within time.Duration) bool { return ahead.Abs()-within > clockTolerance }
