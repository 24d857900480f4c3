// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package excerpt

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	const emoji = "\U0001F600" // four bytes
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"", 8, ""},
		{"a", 0, "..."},
		{strings.Repeat("a", 8), 8, strings.Repeat("a", 8)},
		{strings.Repeat("a", 9), 8, strings.Repeat("a", 8) + "..."},
		{strings.Repeat("a", 7) + "ü", 8, strings.Repeat("a", 7) + "..."},
		{strings.Repeat("a", 6) + "üb", 8, strings.Repeat("a", 6) + "ü..."},
		{"aaaa" + emoji + "b", 7, "aaaa..."},
		{"aaaa" + emoji + "b", 8, "aaaa" + emoji + "..."},
		{emoji, 3, "..."},
		{emoji, 1, "..."},
		{strings.Repeat("\xbf", 9), 8, strings.Repeat("\xbf", 8) + "..."}, // no UTF-8
		{"\xff\xfe", 1, "\xff..."},
	} {
		if got := Of(test.text, test.most); got != test.want {
			t.Errorf("%q, at most %d bytes: %q, want %q", test.text, test.most, got, test.want)
		}
		if got := Cut(test.text, test.most); got != strings.TrimSuffix(test.want, "...") {
			t.Errorf("%q, cut to %d bytes: %q", test.text, test.most, got)
		}
	}
}

func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"":              `""`,
		"word":          "word",
		"two words":     `"two words"`,
		"a\x1b[31mb":    `"a\x1b[31mb"`,
		`say "x"`:       `"say \"x\""`,
		"ümlaut":        "ümlaut",
		"\u202eevil":    `"\u202eevil"`,
		"longer-than-a": "longer-tha...",
	} {
		if got := Quoted(text, 10); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
