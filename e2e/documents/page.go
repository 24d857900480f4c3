// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Page is one Markdown file.
type Page struct {
	Path     string // slash-separated, relative to the repository's root
	Blocks   []Block
	Headings []Heading
	Links    []Link
	Spans    []Span
}

// Block is a fenced block.
type Block struct {
	Line     int    // of its opening fence, from 1
	Language string // the first word behind the fence, such as sh
	File     string // the second one: the file that the block is
	Text     string
	Behind   bool   // nothing but blank lines are between it and the block before
	Said     string // the command of a comment right before it, <!-- said by COMMAND -->, which is what prints it
}

// Heading is a heading with the anchor that leads to it.
type Heading struct {
	Line   int
	Title  string
	Anchor string
}

// Link is a link's target as it stands in the page.
type Link struct {
	Line   int
	Target string
}

// Span is the text of a code span.
type Span struct {
	Line int
	Text string
}

var (
	fence   = regexp.MustCompile("^( *)```(\\S*) *(\\S*)")
	heading = regexp.MustCompile(`^#{1,6} +(.*?) *$`)
	link    = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)`)
	span    = regexp.MustCompile("`([^`]+)`")
	spans   = regexp.MustCompile("`[^`]*`")
	said    = regexp.MustCompile(`^<!-- said by (.*) -->$`)
)

// Pages reads every page of the repository, in the order of their paths. Hidden folders, testdata and what installs put
// into node_modules and bin are left out.
func Pages(root string) ([]Page, error) {
	var pages []Page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("documents: %w", err)
		}
		if entry.IsDir() && path != root && skipped(entry.Name()) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("documents: %w", err)
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("documents: %w", err)
		}
		pages = append(pages, Parse(filepath.ToSlash(relative), string(text)))
		return nil
	})
	return pages, err
}

func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "testdata" || folder == "node_modules" || folder == "bin"
}

// Parse reads one page.
func Parse(path, text string) Page {
	p := Page{Path: path}
	anchors := map[string]int{}
	inside, indent := false, ""
	only := false // blank lines alone since the last block
	by := ""      // the last line's said by
	for i, line := range strings.Split(text, "\n") {
		opening := fence.FindStringSubmatch(line)
		switch {
		case inside && strings.TrimSpace(line) == "```":
			inside, only, by = false, true, ""
		case inside:
			b := &p.Blocks[len(p.Blocks)-1]
			b.Text += strings.TrimPrefix(line, indent) + "\n"
		case opening != nil:
			inside, indent = true, opening[1]
			p.Blocks = append(p.Blocks, Block{Line: i + 1, Language: opening[2], File: opening[3], Behind: only, Said: by})
		default:
			by = ""
			if found := said.FindStringSubmatch(line); found != nil {
				by = found[1]
			}
			only = only && strings.TrimSpace(line) == ""
			p.prose(i+1, line, anchors)
		}
	}
	return p
}

// prose reads a line outside blocks. Anchors counts those that the page has had so far.
func (p *Page) prose(number int, line string, anchors map[string]int) {
	if found := heading.FindStringSubmatch(line); found != nil {
		anchor := anchorOf(found[1])
		anchors[anchor]++
		if n := anchors[anchor]; n > 1 {
			anchor = fmt.Sprintf("%s-%d", anchor, n-1)
		}
		p.Headings = append(p.Headings, Heading{number, found[1], anchor})
	}
	for _, found := range span.FindAllStringSubmatch(line, -1) {
		p.Spans = append(p.Spans, Span{number, found[1]})
	}
	for _, found := range link.FindAllStringSubmatch(spans.ReplaceAllString(line, "x"), -1) {
		p.Links = append(p.Links, Link{number, found[1]})
	}
}

// anchorOf makes a heading's anchor as GitHub does: lower case, without punctuation, spaces as hyphens.
func anchorOf(title string) string {
	title = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(title, "$1")
	title = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`).ReplaceAllString(strings.ToLower(title), "")
	return strings.ReplaceAll(title, " ", "-")
}

// Has says whether a link to the anchor leads somewhere.
func (p Page) Has(anchor string) bool {
	for _, h := range p.Headings {
		if h.Anchor == anchor {
			return true
		}
	}
	return false
}
