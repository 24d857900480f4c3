// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		text    string
		in, out []string
	}{
		{"", nil, []string{"a", ""}},
		{"  ", nil, []string{"a"}},
		{"a", []string{"a"}, []string{"ab", "b", "A"}},
		{" a , b.c ", []string{"a", "b.c"}, []string{"b", "b.c.d"}},
		{"orders-*,a", []string{"orders-", "orders-1", "a"}, []string{"orders", "ab"}},
		{"*", []string{"a", "__iggy_kafka_state"}, nil},
		{".*", []string{".a", "..a"}, []string{"a"}},
		{strings.Repeat("n", 248) + "*", []string{strings.Repeat("n", 249)}, []string{"n"}},
	} {
		p, err := parsePatterns(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		match := p.Matcher()
		if (match == nil) != (tc.in == nil) {
			t.Errorf("%q: a matcher for nothing, or none for something", tc.text)
		}
		if match == nil {
			match = p.match
		}
		for _, topic := range tc.in {
			if !match(topic) {
				t.Errorf("%q does not match %q", tc.text, topic)
			}
		}
		for _, topic := range tc.out {
			if match(topic) {
				t.Errorf("%q matches %q", tc.text, topic)
			}
		}
	}
}

// What no topic could match is a mistake of whoever wrote it, and is named.
func TestBadPatterns(t *testing.T) {
	for _, text := range []string{"a,,b", "a,", ",", "a b", "a*b", "**", "a/b*", "..", strings.Repeat("n", 250), strings.Repeat("n", 249) + "*"} {
		if _, err := parsePatterns("ok," + text); err == nil || !strings.HasPrefix(err.Error(), `entry "`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
