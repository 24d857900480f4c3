// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// ourModules begins the names of this repository's modules, which are released together and so share the release's version.
const ourModules = "github.com/iggy-kafka/iggy-kafka/"

// billOfMaterials names every module that the programs, those of one archive, were linked from, by the build information in
// them: what `go version -m` shows. It has no serial number and no time but the commit's: the same programs have the same bill.
func billOfMaterials(programs []program, target platform, c commit) (*cyclonedx.BOM, error) {
	modules := map[string]cyclonedx.Component{}
	for _, p := range programs {
		for _, m := range append(p.info.Deps, &p.info.Main) {
			component, err := moduleComponent(*m, c.version)
			if err != nil {
				return nil, err
			}
			modules[component.PackageURL] = component
		}
		std := standardLibrary(p.info.GoVersion)
		modules[std.PackageURL] = std
	}
	components := slices.SortedFunc(maps.Values(modules), func(a, b cyclonedx.Component) int { return cmp.Compare(a.PackageURL, b.PackageURL) })

	subject := cyclonedx.Component{
		BOMRef: "iggy-kafka-gateway", Type: cyclonedx.ComponentTypeApplication, Name: "iggy-kafka-gateway", Version: c.version,
		Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Properties: &[]cyclonedx.Property{{Name: "platform", Value: target.os + "/" + target.arch}},
	}
	refs := []string{}
	for _, component := range components {
		refs = append(refs, component.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: c.time.Format(time.RFC3339), Component: &subject}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: subject.BOMRef, Dependencies: &refs}}
	return bom, nil
}

// moduleComponent describes a module as it was linked, so what replaced it, if anything of others' did.
func moduleComponent(m debug.Module, version string) (cyclonedx.Component, error) {
	if strings.HasPrefix(m.Path, ourModules) {
		m.Version = version
	} else if m.Replace != nil {
		if m.Replace.Version == "" {
			return cyclonedx.Component{}, fmt.Errorf("release: module %s is replaced by the folder %s", m.Path, m.Replace.Path)
		}
		m = *m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	component := cyclonedx.Component{
		BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl, Scope: cyclonedx.ScopeRequired,
	}
	if m.Sum == "" {
		return component, nil
	}
	// go.sum's h1 is the SHA-256, in base 64, of the list of the module's files with their own sums.
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || !strings.HasPrefix(m.Sum, "h1:") {
		return cyclonedx.Component{}, fmt.Errorf("release: sum %q of module %s is not an h1", m.Sum, m.Path)
	}
	component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	return component, nil
}

// standardLibrary is Go's own part: go1.26.8 is the version 1.26.8 of the package std.
func standardLibrary(goVersion string) cyclonedx.Component {
	version := strings.TrimPrefix(goVersion, "go")
	purl := "pkg:golang/std@" + version
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: version, PackageURL: purl, Scope: cyclonedx.ScopeRequired}
}

func writeBill(file string, bom *cyclonedx.BOM) error {
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
