// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package structure

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCatalogue compares docs/testing.md with what there is: packages with tests, fuzz targets, make targets, and the tests of
// the suite, whose names are the only way to run a part of it.
func TestCatalogue(t *testing.T) {
	root := repository(t)
	page, err := os.ReadFile(filepath.Join(root, "docs/testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets, packages, fuzz, suite []string
	for _, found := range regexp.MustCompile(`(?m)^([a-z0-9-]+):.*##`).FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, found[1])
	}
	tests := regexp.MustCompile(`(?m)^func (Test[A-Z]\w*|Fuzz\w+)\(`)
	for _, file := range files(t, root, "_test.go") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Dir(file)
		if !slices.Contains(packages, folder) {
			packages = append(packages, folder)
		}
		for _, found := range tests.FindAllStringSubmatch(string(text), -1) {
			switch name := found[1]; {
			case strings.HasPrefix(name, "Fuzz"):
				fuzz = append(fuzz, folder+" "+name)
			case folder == "e2e/suite" && name != "TestMain":
				suite = append(suite, name)
			}
		}
	}
	for _, list := range []struct {
		what       string
		want, have []string
	}{
		{"make targets", targets, firstCells(t, page, "Make targets")},
		{"packages", packages, append(firstCells(t, page, "Unit tests"), slices.DeleteFunc(firstCells(t, page, "Suites that start programs"), isTest)...)},
		{"fuzz targets", fuzz, fuzzCells(t, page)},
		{"tests of the suite", suite, slices.DeleteFunc(firstCells(t, page, "Suites that start programs"), func(name string) bool { return !isTest(name) })},
	} {
		slices.Sort(list.want)
		slices.Sort(list.have)
		if diff := cmp.Diff(list.want, list.have); diff != "" {
			t.Errorf("%s in docs/testing.md (-there are +named):\n%s", list.what, diff)
		}
	}
}

// TestGatewayPackages compares the packages of gateway/README.md with the folders.
func TestGatewayPackages(t *testing.T) {
	root := repository(t)
	page, err := os.ReadFile(filepath.Join(root, "gateway/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named, there []string
	for _, found := range regexp.MustCompile("(?m)^\\| `(internal/\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		named = append(named, found[1])
	}
	folders, err := filepath.Glob(filepath.Join(root, "gateway/internal/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		there = append(there, "internal/"+filepath.Base(folder))
	}
	if diff := cmp.Diff(there, named); diff != "" {
		t.Errorf("gateway/README.md (-there are +named):\n%s", diff)
	}
}

func isTest(name string) bool { return strings.HasPrefix(name, "Test") }

// section returns the rows of the tables below a heading.
func section(t *testing.T, page []byte, title string) []string {
	t.Helper()
	_, rest, found := strings.Cut(string(page), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/testing.md has no section %q", title)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var rows []string
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, line)
		}
	}
	return rows
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// firstCells returns the names in the first cells of a section's tables.
func firstCells(t *testing.T, page []byte, title string) []string {
	t.Helper()
	var names []string
	for _, row := range section(t, page, title) {
		for _, found := range codeSpan.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// fuzzCells returns the fuzz targets, each behind its package.
func fuzzCells(t *testing.T, page []byte) []string {
	t.Helper()
	var names []string
	for _, row := range section(t, page, "Fuzz targets") {
		spans := codeSpan.FindAllStringSubmatch(row, -1)
		for _, target := range spans[1:] {
			names = append(names, spans[0][1]+" "+target[1])
		}
	}
	return names
}
