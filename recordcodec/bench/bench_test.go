// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun measures one short pair of each line; calibrate checks that all sides see all values.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-pairs", "1", "-sample", "1ns"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"decode ", "encode ", "decode to messages ", "messages to batch ", "franz-go", "kafka-go", "zstd"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
	if err := run([]string{"-only", "("}, &out); err == nil {
		t.Error("a bad expression was taken")
	}
}

func TestColumns(t *testing.T) {
	s := series{
		{ours: sample{nanos: 1000, bytes: 10, allocs: 1}, peer: sample{nanos: 4000, bytes: 5, allocs: 2}},
		{ours: sample{nanos: 3000, bytes: 30, allocs: 1}, peer: sample{nanos: 3000, bytes: 5, allocs: 2}},
		{ours: sample{nanos: 2000, bytes: 20, allocs: 1}, peer: sample{nanos: 4000, bytes: 5, allocs: 2}},
	}
	if got, want := s.ours(), "2.0\t20\t1"; got != want {
		t.Errorf("ours is %q, not %q", got, want)
	}
	if got, want := s.peers(), "4.0\t5\t2"; got != want {
		t.Errorf("peers is %q, not %q", got, want)
	}
	if got, want := s.ratio(), "2.00 (1.00 - 4.00)"; got != want {
		t.Errorf("the ratio is %q, not %q", got, want)
	}
	if got, want := s[:2].ratio(), "2.50 (1.00 - 4.00)"; got != want {
		t.Errorf("the ratio of two is %q, not %q", got, want)
	}
}
