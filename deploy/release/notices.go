// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// licenceFile matches the files whose text must go along with a program that holds the code beside them.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// notices is the licence and notice files of everything of others' in the programs, as their licences ask of whoever hands
// out programs: each package's module, and where a package lies deeper and has a licence of its own, that too. A module of
// the bill without any is an error.
func (r release) notices(ctx context.Context, target platform, bill *cyclonedx.BOM) ([]byte, error) {
	goroot, err := r.goTool(ctx, target, "gateway", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	distribution := strings.TrimSpace(string(goroot))
	texts, err := noticesIn(distribution, distribution, "Go's standard library")
	if err != nil {
		return nil, err
	}
	modules := map[string]bool{}
	for _, s := range sources() {
		list, err := r.goTool(ctx, target, s.module, "list", "-deps", "-f",
			"{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{end}}{{.Dir}}", s.pkg())
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(list)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(fields) != 4 || strings.HasPrefix(fields[0], ourModules) {
				continue // the standard library's, or ours
			}
			modules[fields[0]] = true
			found, err := noticesIn(fields[3], fields[2], fields[0]+" "+fields[1])
			if err != nil {
				return nil, err
			}
			texts = append(texts, found...)
		}
	}
	for _, c := range *bill.Components {
		if c.Name != "std" && !strings.HasPrefix(c.Name, ourModules) && !modules[c.Name] {
			return nil, fmt.Errorf("release: no package of module %s was listed, so its licence is unknown", c.Name)
		}
	}
	slices.Sort(texts)
	return []byte(strings.Join(slices.Compact(texts), "\n")), nil
}

// noticesIn returns what is to be told of the package in the folder dir of a module: its licence files there and in
// every folder above, up to the module's.
func noticesIn(dir, module, title string) ([]string, error) {
	if below, err := filepath.Rel(module, dir); err != nil || !filepath.IsLocal(below) {
		return nil, fmt.Errorf("release: %s: the package in %s is not below the module in %s", title, dir, module)
	}
	var texts []string
	for {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("release: licences: %w", err)
		}
		for _, file := range files {
			if file.IsDir() || !licenceFile.MatchString(file.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				return nil, fmt.Errorf("release: licences: %w", err)
			}
			below, err := filepath.Rel(module, filepath.Join(dir, file.Name()))
			if err != nil {
				return nil, fmt.Errorf("release: licences: %w", err)
			}
			heading := title + ", " + filepath.ToSlash(below)
			texts = append(texts, fmt.Sprintf("%s\n%s\n\n%s", heading, strings.Repeat("=", len(heading)), bytes.TrimRight(text, "\n"))+"\n")
		}
		if dir == module {
			break
		}
		dir = filepath.Dir(dir)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("release: %s has no licence file", title)
	}
	return texts, nil
}
