// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package buildinfo says which program this is: what was built, from what, by what and for what.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Info is what is known of a build.
type Info struct {
	// Version is a release, or what stands in for one: "v0.1.0", "v0.1.0-3-gabc1234", "(devel)".
	Version string
	// Commit is the revision it was built from, "-dirty" behind it if there were changes; "unknown" where the build
	// did not record it.
	Commit string
	// Go and Platform are the toolchain's version and its target: "go1.26.0", "linux/amd64".
	Go, Platform string
}

// Read tells what this program is. linked is the version that the linker was given; where it is empty the module's version stands
// in, which go install knows.
func Read(linked string) Info {
	info := Info{Version: linked, Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if built, ok := debug.ReadBuildInfo(); ok {
		info.read(built)
	}
	info.Version = cmp.Or(info.Version, "(devel)")
	return info
}

func (i *Info) read(built *debug.BuildInfo) {
	i.Version = cmp.Or(i.Version, built.Main.Version)
	var dirty string
	for _, s := range built.Settings {
		switch {
		case s.Key == "vcs.revision":
			i.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	i.Commit += dirty
}

// String is one line for people, without the program's name.
func (i Info) String() string {
	return fmt.Sprintf("%s %s %s %s", i.Version, i.Commit, i.Go, i.Platform)
}
