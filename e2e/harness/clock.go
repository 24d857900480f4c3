// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// SteppedClock steps the wall clock of a gateway that is built with the tag steppedclock. Its value is a file, which
// holds how far that clock is off.
type SteppedClock string

// NewSteppedClock is a clock that shows the right time, its file in dir.
func NewSteppedClock(dir string) (SteppedClock, error) {
	c := SteppedClock(filepath.Join(dir, "clock"))
	return c, c.Set(0)
}

// Variable is the gateway's environment variable that names the file.
func (c SteppedClock) Variable() string { return "STEPPED_CLOCK=" + string(c) }

// Set has the clock be off by that much from now on.
func (c SteppedClock) Set(off time.Duration) error {
	// Written beside and renamed: the gateway reads all of it or what was there before.
	if err := os.WriteFile(string(c)+".new", []byte(off.String()), 0o644); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	if err := os.Rename(string(c)+".new", string(c)); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	return nil
}
