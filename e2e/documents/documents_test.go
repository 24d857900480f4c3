// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func pages(t *testing.T) []Page {
	t.Helper()
	all, err := Pages(root)
	if err != nil || len(all) < 20 {
		t.Fatalf("%d pages: %v", len(all), err)
	}
	return all
}

// TestLinks follows every link to a file of the repository or to a heading.
func TestLinks(t *testing.T) {
	all := pages(t)
	byPath := map[string]Page{}
	for _, p := range all {
		byPath[p.Path] = p
	}
	for _, p := range all {
		for _, l := range p.Links {
			to, err := url.Parse(l.Target)
			if err != nil {
				t.Errorf("%s:%d: %v", p.Path, l.Line, err)
				continue
			}
			if to.Scheme != "" {
				continue // others' pages change without us
			}
			file := p.Path
			if to.Path != "" {
				file = path.Join(path.Dir(p.Path), to.Path)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s:%d: the link to %s leads nowhere", p.Path, l.Line, l.Target)
				continue
			}
			if target, ok := byPath[file]; to.Fragment != "" && (!ok || !target.Has(to.Fragment)) {
				t.Errorf("%s:%d: %s has no heading for #%s", p.Path, l.Line, file, to.Fragment)
			}
		}
	}
}

// TestPagesAreFound: each page of docs/ can be reached from the README by links.
func TestPagesAreFound(t *testing.T) {
	byPath := map[string]Page{}
	for _, p := range pages(t) {
		byPath[p.Path] = p
	}
	seen := map[string]bool{}
	next := []string{"README.md"}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, l := range byPath[at].Links {
			target, _, _ := strings.Cut(l.Target, "#")
			file := path.Join(path.Dir(at), target)
			for name := range byPath {
				// A link to a folder shows its README and what else is in it.
				if name == file || path.Dir(name) == file {
					next = append(next, name)
				}
			}
		}
	}
	for name := range byPath {
		if strings.HasPrefix(name, "docs/") && !seen[name] {
			t.Errorf("no link leads from the README to %s", name)
		}
	}
}

// TestNotRun: what the list names is there. That the rest is run is TestDocuments' duty, in suite; code spans are not.
func TestNotRun(t *testing.T) {
	entries, err := ReadNotRun("testdata/not-run.txt")
	if err != nil {
		t.Fatal(err)
	}
	var commands []Command
	for _, p := range pages(t) {
		commands = append(commands, p.Commands()...)
	}
	for _, e := range entries {
		if !slices.ContainsFunc(commands, e.Covers) {
			t.Errorf("no page has the command %q of %s", e.Command, e.Page)
		}
	}
	blocks := map[string]bool{}
	for _, c := range commands {
		if !c.Inline {
			for line := range strings.Lines(c.Text) {
				blocks[command(line)] = true
			}
		}
	}
	for _, c := range commands {
		if c.Inline && !blocks[c.Text] && !slices.ContainsFunc(entries, func(e NotRun) bool { return e.Covers(c) }) {
			t.Errorf("%s:%d: `%s` is in no block of commands and not on the list of those that are not run", c.Page, c.Line, c.Text)
		}
	}
}

// TestNames: make targets, Go tests and commands of the gateway that code spans and blocks tell to run are there.
func TestNames(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var functions strings.Builder
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				functions.WriteString(found[1] + "\n")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(filepath.Join(root, "docs/settings.md")) // made from the code
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`iggy-kafka-gateway ([a-z][a-z-]*)( |$)`)
	target := regexp.MustCompile(`^make ([a-z0-9-]+)`)
	function := regexp.MustCompile(`(?:-run|-bench|-fuzz|BENCH=)[ =]?'?([\w|.^$]+)`)
	for _, p := range pages(t) {
		for _, c := range p.Commands() {
			for line := range strings.Lines(c.Text) {
				if found := target.FindStringSubmatch(line); found != nil && !regexp.MustCompile(`(?m)^`+found[1]+`:.*##`).Match(makefile) {
					t.Errorf("%s:%d: the Makefile has no target %s", c.Page, c.Line, found[1])
				}
				if found := command.FindStringSubmatch(line); found != nil && !strings.Contains(string(settings), "| `"+found[1]+"` |") {
					t.Errorf("%s:%d: the gateway has no command %s", c.Page, c.Line, found[1])
				}
				for _, found := range function.FindAllStringSubmatch(line, -1) {
					// xxx, and a beginning that is an end, are how to choose none.
					if name := found[1]; name != "xxx" && name != "^$" && !regexp.MustCompile(name).MatchString(functions.String()) {
						t.Errorf("%s:%d: there is no test or benchmark %s", c.Page, c.Line, name)
					}
				}
			}
		}
	}
}

// command is a line of a block without its comment and what puts it into the background.
func command(line string) string {
	line, _, _ = strings.Cut(line, " #")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "&"))
}

func TestParse(t *testing.T) {
	page := Parse("docs/a.md", strings.Join([]string{
		"# One `two`: [three](b.md#c), four", "text `make x` and [`a](b)`](c.md) `code](d)`", "```java Hello.java", "class", "# no heading", "```", "",
		"```text", "out", "```", "- item", "", "  ```sh", "  go on", "    deeper", "  ```", "## Same", "## Same",
		"<!-- said by make x -->", "```log", "says", "```",
	}, "\n"))
	want := Page{
		Path: "docs/a.md",
		Blocks: []Block{
			{Line: 3, Language: "java", File: "Hello.java", Text: "class\n# no heading\n"},
			{Line: 8, Language: "text", Text: "out\n", Behind: true},
			{Line: 13, Language: "sh", Text: "go on\n  deeper\n"},
			{Line: 20, Language: "log", Text: "says\n", Said: "make x"},
		},
		Headings: []Heading{{1, "One `two`: [three](b.md#c), four", "one-two-three-four"}, {17, "Same", "same"}, {18, "Same", "same-1"}},
		Links:    []Link{{1, "b.md#c"}, {2, "c.md"}},
		Spans:    []Span{{1, "two"}, {2, "make x"}, {2, "a](b)"}, {2, "code](d)"}},
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	commands := []Command{{"docs/a.md", 2, "make x", true}, {"docs/a.md", 13, "go on\n  deeper\n", false}}
	if diff := cmp.Diff(commands, page.Commands()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestMetricNames: metrics that a page names are those of metrics.md, which is made from the code.
func TestMetricNames(t *testing.T) {
	name := regexp.MustCompile("`(iggy_kafka_[a-z_]+)")
	table, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		for _, s := range p.Spans {
			for _, found := range name.FindAllStringSubmatch("`"+s.Text, -1) {
				if !strings.Contains(string(table), "| `"+found[1]+"` |") {
					t.Errorf("%s:%d: there is no metric %s", p.Path, s.Line, found[1])
				}
			}
		}
	}
}

// TestAlerts: every alert is explained in operations.md under its name, where its runbook_url leads, and no others are.
func TestAlerts(t *testing.T) {
	rules, err := filepath.Glob(filepath.Join(root, "deploy/prometheus/*.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var alerts, runbooks []string
	for _, path := range rules {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^\s*-?\s*alert: (\w+)$`).FindAllStringSubmatch(string(text), -1) {
			alerts = append(alerts, found[1])
		}
		for _, found := range regexp.MustCompile(`(?m)^\s*runbook_url: \S+/docs/operations\.md#(\w+)$`).FindAllStringSubmatch(string(text), -1) {
			runbooks = append(runbooks, found[1])
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var explained, anchors []string
	for _, h := range Parse("docs/operations.md", string(text)).Headings {
		if strings.HasPrefix(h.Title, "IggyKafka") {
			explained, anchors = append(explained, h.Title), append(anchors, h.Anchor)
		}
	}
	for _, lists := range [][2][]string{{alerts, explained}, {runbooks, anchors}} {
		slices.Sort(lists[0])
		slices.Sort(lists[1])
		if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
			t.Errorf("(-rules +operations.md):\n%s", diff)
		}
	}
}
