// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The committed table is what the generator makes, with this version of kmsg.
func TestUpToDate(t *testing.T) {
	want, err := generate(tsv)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../layouts_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go generate in wire (-generated +committed):\n%s", diff)
	}
}

func TestElementSizes(t *testing.T) {
	tests := []struct {
		name         string
		key, version int16
		layout       string
		want         []int64
	}{
		{"no array", 18, 3, "ssT", []int64{}},
		{"strings", 10, 4, "1{s}T", []int64{16}},
		{"nested", 9, 7, "s{s{4}T}1T", []int64{48, 4}},
	}
	for _, test := range tests {
		got, err := elementSizes(test.key, test.version, test.layout)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A table that does not fit kmsg is refused rather than guessed at.
func TestRefused(t *testing.T) {
	for _, line := range []string{
		"18\tApiVersions\t3\t2\t0",
		"x\tApiVersions\t3\t2\t0\tssT",
		"18\tApiVersions\tx\t2\t0\tssT",
		"18\tApiVersions\t3\t2\t0\ts",
		"10\tFindCoordinator\t4\t2\t1\t{s}1T",
	} {
		if src, err := generate(line + "\n"); err == nil {
			t.Errorf("%q made %s", line, src)
		}
	}
	src, err := generate("22\tInitProducerId\t6\t2\t1\ts48211T\n# a comment\n")
	if err != nil || strings.Contains(string(src), "22,") {
		t.Errorf("what kmsg does not know: %v\n%s", err, src)
	}
}
