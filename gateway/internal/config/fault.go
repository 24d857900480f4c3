// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong with one setting.
type Fault struct {
	Variable string // as an environment variable; empty when the arguments themselves are at fault
	Value    string // as given, masked if it is a secret, or could be one
	Reason   string
}

func (f Fault) String() string {
	if f.Variable == "" {
		return f.Reason
	}
	return fmt.Sprintf("%s=%q: %s", f.Variable, f.Value, f.Reason)
}

// Faults is the error of [Load]: all that is wrong, so that it can be put right at once.
type Faults []Fault

func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = "config: " + f.String()
	}
	return strings.Join(lines, "\n")
}

// Help is the error of [Load] when the arguments ask for the usage.
type Help struct{ Text string }

func (*Help) Error() string { return "config: help was asked for" }
