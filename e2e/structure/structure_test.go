// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package structure

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	prefix = "github.com/iggy-kafka/iggy-kafka/"
	header = "// Copyright The iggy-kafka Authors\n// SPDX-License-Identifier: Apache-2.0\n"
)

// rules says, for each module, which packages of ours it may import besides its own, and, where that is kept small on
// purpose, which of others. An entry allows the package and all below it. Tests may import what is in tests as well.
func rules() map[string]rule {
	return map[string]rule{
		"wire":              {others: []string{"github.com/twmb/franz-go/pkg/kmsg"}},
		"recordcodec":       {others: []string{"github.com/klauspost/compress", "github.com/pierrec/lz4", "github.com/golang/snappy"}},
		"recordcodec/bench": {ours: []string{"recordcodec"}},
		"coordinator":       {others: []string{"github.com/cockroachdb/datadriven"}},
		"bridge":            {ours: []string{"recordcodec", "coordinator/statelog"}, tests: []string{"bridge/embedded"}},
		"bridge/embedded":   {ours: []string{"recordcodec", "bridge/iggywire"}, tests: []string{"bridge", "coordinator/statelog"}},
		"gateway":           {ours: []string{"wire", "recordcodec", "coordinator", "bridge", "bridge/embedded"}},
		"e2e":               {}, // speaks over the network only
		"deploy":            {apart: true},
	}
}

type rule struct {
	ours, tests []string
	others      []string // nil: any
	apart       bool     // not in the workspace, so that nothing else gets the versions that it asks for
}

// testLibraries may be imported by every module's tests.
func testLibraries() []string { return []string{"github.com/google/go-cmp"} }

func TestImports(t *testing.T) {
	rules := rules()
	root := repository(t)
	for _, path := range goFiles(t, root) {
		module := moduleOf(path, rules)
		if module == "" {
			t.Errorf("%s is in no module", path)
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !rules[module].allows(module, imported, strings.HasSuffix(path, "_test.go")) {
				t.Errorf("%s must not import %s", path, imported)
			}
		}
	}
}

func (r rule) allows(module, imported string, test bool) bool {
	allowed := slices.Clone(r.ours)
	if test {
		allowed = append(allowed, r.tests...)
	}
	if ours, ok := strings.CutPrefix(imported, prefix); ok {
		// bridge/embedded lies below bridge, but is no part of it.
		if owner := moduleOf(ours+"/", rules()); owner == module || owner != module && slices.Contains(allowed, owner) {
			return true
		}
		return within(ours, allowed)
	}
	standard := !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
	return standard || r.others == nil || within(imported, r.others) || test && within(imported, testLibraries())
}

// within tells whether the package is one of those listed or below one.
func within(imported string, listed []string) bool {
	return slices.ContainsFunc(listed, func(p string) bool {
		return imported == p || strings.HasPrefix(imported, p+"/")
	})
}

// moduleOf returns the module that a slash-separated path below the root lies in: the one with the longest name.
func moduleOf(path string, rules map[string]rule) string {
	module := ""
	for name := range rules {
		if strings.HasPrefix(path, name+"/") && len(name) > len(module) {
			module = name
		}
	}
	return module
}

// TestRules shows that the check can fail.
func TestRules(t *testing.T) {
	for _, test := range []struct {
		module, imported string
		test, want       bool
	}{
		{"wire", "fmt", false, true},
		{"wire", "github.com/twmb/franz-go/pkg/kmsg", false, true},
		{"wire", "github.com/twmb/franz-go/pkg/kgo", false, false},
		{"wire", "github.com/google/go-cmp/cmp", false, false},
		{"wire", "github.com/google/go-cmp/cmp", true, true},
		{"recordcodec", prefix + "recordcodec/mapping", false, true},
		{"recordcodec", prefix + "wire", true, false},
		{"coordinator", prefix + "recordcodec", true, false},
		{"bridge", prefix + "recordcodec", false, true},
		{"bridge", prefix + "bridge/iggywire", false, true},
		{"bridge", prefix + "coordinator/statelog", false, true},
		{"bridge", prefix + "coordinator", false, false},
		{"bridge", prefix + "bridge/embedded", false, false},
		{"bridge", prefix + "wire", false, false},
		{"bridge/embedded", prefix + "bridge/iggywire", false, true},
		{"bridge/embedded", prefix + "bridge", false, false},
		{"bridge/embedded", prefix + "bridge/bridgetest", true, true},
		{"gateway", prefix + "bridge/embedded", false, true},
		{"gateway", prefix + "e2e/harness", true, false},
		{"e2e", prefix + "e2e/harness", true, true},
		{"e2e", prefix + "wire", true, false},
	} {
		if got := rules()[test.module].allows(test.module, test.imported, test.test); got != test.want {
			t.Errorf("%s importing %s (in a test: %v): allowed %v, want %v", test.module, test.imported, test.test, got, test.want)
		}
	}
}

func TestLicenceHeaders(t *testing.T) {
	root := repository(t)
	for _, path := range goFiles(t, root) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), header) {
			t.Errorf("%s does not begin with the licence header", path)
		}
	}
}

// TestModuleLists compares the places that name the modules: go.work, the Makefile, the rules above, go.mod files.
func TestModuleLists(t *testing.T) {
	root := repository(t)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := slices.Sorted(maps.Keys(rules()))
	apart := func(module string) bool { return rules()[module].apart }
	together := slices.DeleteFunc(slices.Clone(want), apart)

	var work []string
	for _, match := range regexp.MustCompile(`(?m)^\s*\./(\S+)$`).FindAllStringSubmatch(read("go.work"), -1) {
		work = append(work, match[1])
	}
	slices.Sort(work)
	if diff := cmp.Diff(together, work); diff != "" {
		t.Errorf("go.work (-want +got):\n%s", diff)
	}

	for variable, want := range map[string][]string{"MODULES": together, "APART": slices.DeleteFunc(slices.Clone(want), func(m string) bool { return !apart(m) })} {
		line := regexp.MustCompile(`(?m)^` + variable + ` := (.*)$`).FindStringSubmatch(read("Makefile"))
		if line == nil {
			t.Fatalf("the Makefile has no line %s :=", variable)
		}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(strings.Fields(line[1])))); diff != "" {
			t.Errorf("Makefile's %s (-want +got):\n%s", variable, diff)
		}
	}

	var modules []string
	for _, path := range files(t, root, "go.mod") {
		if path == "e2e/clients/old/go.mod" {
			continue // a program of clients that the workspace has in newer releases
		}
		modules = append(modules, filepath.ToSlash(filepath.Dir(path)))
		if name := prefix + filepath.ToSlash(filepath.Dir(path)); !strings.HasPrefix(read(path), "module "+name+"\n") {
			t.Errorf("%s does not name the module %s", path, name)
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(modules))); diff != "" {
		t.Errorf("go.mod files (-want +got):\n%s", diff)
	}
}

// repository finds the root: the folder of go.work.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.work above the test")
		}
		dir = filepath.Dir(dir)
	}
}

func goFiles(t *testing.T, root string) []string { return files(t, root, ".go") }

// files lists what ends in suffix, relative to root; hidden folders and testdata are none of ours.
func files(t *testing.T, root, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(path, suffix) {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(relative))
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("found %d files that end in %s: %v", len(found), suffix, err)
	}
	return found
}
