// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Command is what a page tells its reader to run.
type Command struct {
	Page   string
	Line   int
	Text   string
	Inline bool // a code span in a sentence, which nobody runs as it stands
}

// First is the command's first line, by which it is named.
func (c Command) First() string {
	first, _, _ := strings.Cut(c.Text, "\n")
	return first
}

// Shell says whether the block is commands.
func (b Block) Shell() bool {
	return slices.Contains([]string{"sh", "bash", "shell", "console", "zsh"}, b.Language)
}

// programs are the words that make a code span a command if others follow.
func programs() []string {
	return []string{
		"make", "go", "git", "bin/iggy-kafka-gateway", "iggy-kafka-gateway", "bin/iggy-embedded", "kafkawire", "bin/kafkawire", "kcat", "curl", "openssl", "mvn", "java",
		"docker", "kubectl", "systemctl", "journalctl", "cd", "cp", "tar", "kill", "promtool", "apt-get", "npm", "python3", "e2e/clients/java/tool",
	}
}

// Commands are the page's commands, in the order in which they stand there.
func (p Page) Commands() []Command {
	var found []Command
	for _, b := range p.Blocks {
		if b.Shell() {
			found = append(found, Command{Page: p.Path, Line: b.Line, Text: b.Text})
		}
	}
	for _, s := range p.Spans {
		words := strings.Fields(s.Text)
		if len(words) > 1 && (slices.Contains(programs(), words[0]) || strings.HasSuffix(words[0], ".sh")) {
			found = append(found, Command{Page: p.Path, Line: s.Line, Text: s.Text, Inline: true})
		}
	}
	slices.SortStableFunc(found, func(a, b Command) int { return a.Line - b.Line })
	return found
}

// NotRun is a command that no test runs as it stands.
type NotRun struct {
	Page    string // or * for the code spans of all
	Command string // how it begins
	Why     string
}

// Covers says whether the entry speaks of a command.
func (n NotRun) Covers(c Command) bool {
	return (n.Page == "*" && c.Inline || n.Page == c.Page) && (c.Text == n.Command || strings.HasPrefix(c.Text, n.Command+" ") || c.First() == n.Command)
}

// ReadNotRun reads the list: a line for each entry, of three columns between tabs; lines that begin with # are comments.
func ReadNotRun(path string) ([]NotRun, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	var entries []NotRun
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 3 || slices.Contains(columns, "") {
			return nil, fmt.Errorf("documents: %s:%d: want page, command and reason between tabs", path, i+1)
		}
		entries = append(entries, NotRun{columns[0], columns[1], columns[2]})
	}
	return entries, nil
}
