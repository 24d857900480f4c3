// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"bytes"
	"strings"
	"testing"
)

// The text is found wherever it lies in a stream that is looked through in pieces of a mebibyte.
func TestDisguisedCount(t *testing.T) {
	d := Disguise([]byte("needle"))
	for name, tc := range map[string]struct {
		stream string
		want   int
	}{
		"empty":        {"", 0},
		"part":         {"needl", 0},
		"only":         {"needle", 1},
		"at the end":   {strings.Repeat("n", 100) + "needle", 1},
		"two":          {"needleneedle", 2},
		"between":      {strings.Repeat("x", 1<<20-3) + "needle", 1},
		"at the joint": {strings.Repeat("n", 1<<20-6) + "needle" + strings.Repeat("needle", 2), 3},
		"behind":       {strings.Repeat("x", 1<<20) + "needle", 1},
		"cut off":      {strings.Repeat("x", 3<<20) + "needl", 0},
	} {
		if n, err := d.count(bytes.NewReader([]byte(tc.stream))); err != nil || n != tc.want {
			t.Errorf("%s: %d, %v, want %d", name, n, err, tc.want)
		}
	}
	if got := string(d.Reveal()); got != "needle" {
		t.Errorf("revealed: %q", got)
	}
}
