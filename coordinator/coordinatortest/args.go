// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// group returns the group that a command is about: g unless it says so. "none" is the empty id.
func group(t *testing.T, d *datadriven.TestData) string {
	name := text(t, d, "group", "g")
	if name == "none" {
		return ""
	}
	return name
}

// text returns an argument, or what it is when absent.
func text(t *testing.T, d *datadriven.TestData, key, absent string) string {
	t.Helper()
	d.MaybeScanArgs(t, key, &absent)
	return absent
}

func number(t *testing.T, d *datadriven.TestData, key string, absent int) int {
	t.Helper()
	d.MaybeScanArgs(t, key, &absent)
	return absent
}

func duration(t *testing.T, d *datadriven.TestData, key string, absent time.Duration) time.Duration {
	t.Helper()
	value, err := time.ParseDuration(text(t, d, key, absent.String()))
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return value
}

// list returns the values of key=(a,b), or nil without the argument.
func list(d *datadriven.TestData, key string) []string {
	if arg, ok := d.Arg(key); ok {
		return append([]string{}, arg.Vals...)
	}
	return nil
}

// lines returns the command's input, one element per line, split at blanks.
func lines(d *datadriven.TestData) [][]string {
	var all [][]string
	for line := range strings.Lines(d.Input) {
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

// partition parses "topic/partition".
func partition(s string) (coordinator.TopicPartition, error) {
	topic, number, ok := strings.Cut(s, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		return coordinator.TopicPartition{}, fmt.Errorf("%q is not topic/partition", s)
	}
	return coordinator.TopicPartition{Topic: topic, Partition: int32(n)}, nil
}

func partitions(d *datadriven.TestData) ([]coordinator.TopicPartition, error) {
	var all []coordinator.TopicPartition
	for _, words := range lines(d) {
		tp, err := partition(words[0])
		if err != nil {
			return nil, err
		}
		all = append(all, tp)
	}
	return all, nil
}
