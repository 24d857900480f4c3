// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package excerpt shortens the texts of others, who may say as much as they like, to what there is room for.
package excerpt

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cut is how a text begins: its first most bytes, or a few less where these would end within a character.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for end := most; end >= 0 && end > most-utf8.UTFMax; end-- {
		if utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	return text[:most] // no UTF-8
}

// Of is Cut with an ellipsis behind it where something was left out.
func Of(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Cut(text, most) + "..."
}

// Quoted is Of in a form that can be printed: between quotes, and with escapes, where it is not a plain word.
func Quoted(text string, most int) string {
	cut := Of(text, most)
	quoted := strconv.Quote(cut)
	if cut == "" || strings.Contains(cut, " ") || quoted[1:len(quoted)-1] != cut {
		return quoted
	}
	return cut
}
