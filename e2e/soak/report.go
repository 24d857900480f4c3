// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// Counts are the figures of a run beside those of its [Verdict].
type Counts struct {
	Faults       map[string]int // by place and kind
	StartsFailed int            // programs gave up before they served, and were started again
	Losses       int            // kills after which the store was looked at for what it had forgotten
}

// Add adds another run's.
func (c *Counts) Add(other Counts) {
	if c.Faults == nil {
		c.Faults = map[string]int{}
	}
	for kind, n := range other.Faults {
		c.Faults[kind] += n
	}
	c.StartsFailed += other.StartsFailed
	c.Losses += other.Losses
}

func (c Counts) String() string {
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(c.Faults)) {
		fmt.Fprintf(&text, "%s %d, ", kind, c.Faults[kind])
	}
	fmt.Fprintf(&text, "failed starts %d, losses %d", c.StartsFailed, c.Losses)
	return text.String()
}

// inspectLogs looks for crashes, races and what the gateway itself takes for errors: nothing that is done to it is one, but that
// it cannot start without an Iggy.
func (r *run) inspectLogs() error {
	var errs []error
	for _, p := range []*harness.Program{r.target.Gateway, r.target.IggyServer} {
		if p != nil {
			errs = append(errs, inspectLog(p.Log(), int(r.startsFailed.Load())))
		}
	}
	return errors.Join(errs...)
}

// inspectLog returns the first such line; one is due to each start that has failed.
func inspectLog(path string, startsFailed int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	for scan.Scan() {
		line := scan.Text()
		if startsFailed > 0 && strings.Contains(line, `level=ERROR msg="the gateway cannot go on"`) {
			startsFailed--
			continue
		}
		for _, sign := range []string{"panic:", "fatal error:", "WARNING: DATA RACE", "level=ERROR"} {
			if strings.Contains(line, sign) {
				return fmt.Errorf("soak: %s has %q", path, line)
			}
		}
	}
	return scan.Err()
}

// Keep writes down what is needed to look into a run.
func Keep(dir string, plan Plan, h *History, verdict Verdict, problem error) error {
	var text strings.Builder
	fmt.Fprintln(&text, plan)
	if h != nil {
		fmt.Fprintf(&text, "The faults' times count from %v on.\n", h.Disturbed)
	}
	for _, fault := range verdict.Faults {
		fmt.Fprintln(&text, fault)
	}
	if problem != nil {
		fmt.Fprintln(&text, problem)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.txt"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	history, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "history.json"), history, 0o644)
}
