// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// What programs print is compared in blocks: each is one thing that was done, and what came of it. A file holds the blocks
// that a broker makes them print. Another one, beside it, holds those that the gateway answers otherwise on purpose, with
// the reasons in lines that begin with #: it is to say all that differs, and nothing else.

// expectBlocks compares with the files path.txt and path.gateway.txt. Split takes a text apart; a block begins with what
// key returns of its first line.
func expectBlocks(t *testing.T, target *harness.Target, path, got string, split func(text string) []block) {
	t.Helper()
	if target.Name == "kafka" {
		golden(t, target, path+".txt", got)
		return
	}
	want := split(readText(t, path+".txt"))
	overlay := map[string]string{}
	for _, b := range split(readText(t, path+".gateway.txt")) {
		overlay[b.key] = b.text
	}
	for i, b := range want {
		if text, ok := overlay[b.key]; ok {
			if text == b.text {
				t.Errorf("%s.gateway.txt has what a broker does: %s", path, b.key)
			}
			want[i].text = text
			delete(overlay, b.key)
		}
	}
	for key := range overlay {
		t.Errorf("%s.gateway.txt has what is not done: %s", path, key)
	}
	if diff := cmp.Diff(texts(want), texts(split(got))); diff != "" {
		t.Errorf("%s, as the gateway answers it (-want +got):\n%s", path, diff)
	}
}

// block is a part of a text.
type block struct{ key, text string }

func texts(blocks []block) []string {
	var all []string
	for _, b := range blocks {
		all = append(all, b.text)
	}
	return all
}

// readText reads a file that may be missing, without the lines that begin with #.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// stepBlocks takes lines of the form "what: outcome" apart.
func stepBlocks(text string) []block {
	var blocks []block
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			key, _, _ := strings.Cut(line, ": ")
			blocks = append(blocks, block{key, line})
		}
	}
	return blocks
}

// commandBlocks takes a text apart whose parts begin with "$ " and a command.
func commandBlocks(text string) []block {
	var blocks []block
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "$ "):
			blocks = append(blocks, block{line, line})
		case line != "" && len(blocks) > 0:
			blocks[len(blocks)-1].text += "\n" + line
		}
	}
	return blocks
}
