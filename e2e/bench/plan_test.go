// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestParsePlan(t *testing.T) {
	p, err := parsePlan([]string{"-preset", "cpu", "-pairs=2", "-batches", "1024", "-targets=separate,kafka"}, flag.ContinueOnError)
	if err != nil {
		t.Fatal(err)
	}
	if p.pairs != 2 || p.records != 2_000_000 || p.consume || !slices.Equal(p.batches, []int{1024}) ||
		!slices.Equal(p.targets, []string{"separate", "kafka"}) || !slices.Equal(p.clients, []string{clientJava}) {
		t.Errorf("arguments and preset gave %+v", p)
	}
	if got := len(p.workloads()); got != 1 {
		t.Errorf("%d workloads", got)
	}
	if p, err = parsePlan(nil, flag.ContinueOnError); err != nil || len(p.workloads()) != 2*3*2 {
		t.Errorf("%d workloads by default, %v", len(p.workloads()), err)
	}
}

func TestPresets(t *testing.T) {
	for name := range presets() {
		if _, err := parsePlan([]string{"-preset", name}, flag.ContinueOnError); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParsePlanFails(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-preset none", `no preset "none"`},
		{"-measure all", `-measure "all"`},
		{"-clients franz,kcat", `-clients "kcat"`},
		{"-acks 2", `-acks "2"`},
		{"-sizes 1,x", "no positive number"},
		{"-partitions 0", "no positive number"},
		{"-pairs 0", "must be positive"},
		{"-groups 0", "must be positive"},
		{"-preset heartbeats -connections 30,31", "multiples of -members"},
		{"rest", "unexpected argument"},
	} {
		_, err := parsePlan(strings.Fields(test.args), flag.ContinueOnError)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want a mention of %s", test.args, err, test.want)
		}
	}
}
