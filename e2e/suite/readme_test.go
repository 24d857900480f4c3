// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// readmeAddr is where make run listens, which the README's examples name.
const readmeAddr = "127.0.0.1:9093"

// TestReadme runs the kcat example of the README as it stands there, but for the address, and compares what it prints
// with what the README says.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	requireTool(t, "kcat")
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, rest := fenced(t, string(page), "sh", "kcat -b")
	want, _ := fenced(t, rest, "text", "")

	kind := harness.Kinds()[0]
	target := start(t, kind, builder(t), "IGGY_KAFKA_AUTO_CREATE_TOPICS=true") // the default, which the suite turns off
	if !strings.Contains(commands, readmeAddr) {
		t.Fatalf("the example does not name %s", readmeAddr)
	}
	cmd := exec.CommandContext(within(t, limit), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(commands, readmeAddr, target.Kafka))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if string(got) != want {
		t.Errorf("prints\n%s\nthe README says\n%s", got, want)
	}
}

// fenced returns the first fenced block of a language that contains a text, and what follows it.
func fenced(t *testing.T, page, language, text string) (block, rest string) {
	t.Helper()
	for {
		var found bool
		if _, page, found = strings.Cut(page, "```"+language+"\n"); !found {
			t.Fatalf("no %s block with %q", language, text)
		}
		block, page, found = strings.Cut(page, "```")
		if !found {
			t.Fatalf("a %s block has no end", language)
		}
		if strings.Contains(block, text) {
			return block, page
		}
	}
}
