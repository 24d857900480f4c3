// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestVersionOf(t *testing.T) {
	for description, want := range map[string]string{
		"gateway/v0.1.0":                 "v0.1.0",
		"gateway/v0.1.0-rc.1-dirty":      "v0.1.0-rc.1-dirty",
		"gateway/v0.1.0-3-g0123456789ab": "v0.1.0-3-g0123456789ab",
		"0123456789ab":                   "v0.0.0-g0123456789ab",
		"0123456789ab-dirty":             "v0.0.0-g0123456789ab-dirty",
	} {
		if got := versionOf(description); got != want {
			t.Errorf("%s is version %s, want %s", description, got, want)
		}
	}
}

func TestParsePlatforms(t *testing.T) {
	got, err := parsePlatforms("linux/amd64,darwin/arm64")
	if want := []platform{{"linux", "amd64"}, {"darwin", "arm64"}}; err != nil || !cmp.Equal(want, got, cmp.AllowUnexported(platform{})) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "linux", "linux/", "/amd64", "linux/arm/v7", "linux/amd64,"} {
		if got, err := parsePlatforms(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

// TestWriteArchive compares what is in an archive, in which order and with which modes.
func TestWriteArchive(t *testing.T) {
	dir, modified := t.TempDir(), time.Unix(1700000000, 0)
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("ELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a.tar.gz")
	entries := []entry{{name: "program", path: program, executable: true}, {name: "LICENSE", data: []byte("text")}}
	if err := writeArchive(file, "a", entries, modified); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	uncompressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for archive := tar.NewReader(uncompressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(modified) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s is of %v and of user %d %q", header.Name, header.ModTime, header.Uid, header.Uname)
		}
		got = append(got, header.FileInfo().Mode().String()+" "+header.Name+" "+string(text))
	}
	if diff := cmp.Diff([]string{"-rw-r--r-- a/LICENSE text", "-rwxr-xr-x a/program ELF"}, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	if err := writeArchive(file, "a", []entry{{name: "b", path: filepath.Join(dir, "none")}}, modified); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an entry without its file: %v", err)
	}
}

func TestModuleComponent(t *testing.T) {
	const sum = "h1:3sj7ekbH33t73nsBcHS0wtp/PyMIViHLNItZrE8V9zM="
	for _, test := range []struct {
		name   string
		module debug.Module
		want   string // the package URL, or a part of the error
		hashes int
	}{
		{"another's", debug.Module{Path: "example.com/a", Version: "v1.2.3", Sum: sum}, "pkg:golang/example.com/a@v1.2.3", 1},
		{"before modules", debug.Module{Path: "example.com/a", Version: "v4.0.0+incompatible", Sum: sum}, "pkg:golang/example.com/a@v4.0.0%2Bincompatible", 1},
		{"replaced", debug.Module{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/b", Version: "v2.0.0", Sum: sum}}, "pkg:golang/example.com/b@v2.0.0", 1},
		{"ours", debug.Module{Path: ourModules + "wire", Version: "v0.0.0", Replace: &debug.Module{Path: "../wire", Version: "(devel)"}}, "pkg:golang/" + ourModules + "wire@v0.1.0", 0},
		{"replaced by a folder", debug.Module{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "../a"}}, "replaced by the folder ../a", 0},
		{"a sum of another kind", debug.Module{Path: "example.com/a", Version: "v1.0.0", Sum: "h2:AAAA"}, "not an h1", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			component, err := moduleComponent(test.module, "v0.1.0")
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %q, want %q", err, test.want)
				}
				return
			}
			hashes := 0
			if component.Hashes != nil {
				hashes = len(*component.Hashes)
			}
			if component.PackageURL != test.want || hashes != test.hashes {
				t.Errorf("got %s with %d hashes, want %s with %d", component.PackageURL, hashes, test.want, test.hashes)
			}
		})
	}
}

func TestNoticesIn(t *testing.T) {
	module := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "the module's\n", "NOTICE.txt": "thanks\n", "license_test.go": "package a\n", "deeper/COPYING": "its own\n", "deeper/still/a.go": "package a\n",
	} {
		file := filepath.Join(module, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := noticesIn(filepath.Join(module, "deeper/still"), module, "a v1")
	want := []string{
		"a v1, deeper/COPYING\n====================\n\nits own\n",
		"a v1, LICENSE\n=============\n\nthe module's\n",
		"a v1, NOTICE.txt\n================\n\nthanks\n",
	}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	bare := t.TempDir()
	if _, err := noticesIn(bare, bare, "b v1"); err == nil {
		t.Error("no licence is no error")
	}
	if _, err := noticesIn(bare, module, "b v1"); err == nil {
		t.Error("a package outside its module is no error")
	}
}

// TestReplace: a release takes the place of another one, never of anything else.
func TestReplace(t *testing.T) {
	made := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(made, sumsFile, "new")
	home := t.TempDir()
	write(home, "letter", "dear")
	if err := replace(home, made); err == nil {
		t.Error("a folder of other things was replaced")
	}
	if _, err := os.Stat(filepath.Join(home, "letter")); err != nil {
		t.Error(err)
	}
	earlier := t.TempDir()
	write(earlier, sumsFile, "old")
	write(earlier, "a.tar.gz", "old")
	for _, out := range []string{earlier, t.TempDir(), filepath.Join(t.TempDir(), "dist")} {
		if err := replace(out, made); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, sumsFile))
		if files, _ := os.ReadDir(out); err != nil || string(text) != "new" || len(files) != 1 {
			t.Errorf("%d files, sums %q, %v", len(files), text, err)
		}
	}
}
