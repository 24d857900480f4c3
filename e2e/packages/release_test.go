// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRelease makes a release for this machine and looks into it.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("making a release compiles everything as it is released")
	}
	r := made{tool: buildTool(t), dist: t.TempDir()}
	makeRelease(t, r.tool, r.dist)
	r.unpacked = unpack(t, r.dist)
	t.Run("reproducible", r.testReproducible)
	t.Run("sums", r.testSums)
	t.Run("contents", r.testContents)
	t.Run("programs", r.testPrograms)
	t.Run("bill", r.testBill)
	t.Run("user", r.testUser)
}

// made is a release that was made.
type made struct {
	tool     string // the command that made it
	dist     string // its folder
	unpacked string // the folder that was in its archive
}

// version is in the name of the archive's folder: iggy-kafka-gateway_v0.1.0_linux_amd64.
func (r made) version() string { return strings.Split(filepath.Base(r.unpacked), "_")[1] }

// testReproducible makes the release again where the environment is another one: the same files, to the byte.
func (r made) testReproducible(t *testing.T) {
	second := t.TempDir()
	makeRelease(t, r.tool, second, "TZ=Pacific/Chatham", "LC_ALL=de_DE.UTF-8", "GOFLAGS=-buildvcs=false", "GOAMD64=v3", "CGO_ENABLED=1")
	if diff := cmp.Diff(sums(t, r.dist), sums(t, second)); diff != "" {
		t.Errorf("sums of two releases (-first +second):\n%s", diff)
	}
}

// testSums checks SHA256SUMS: every file but itself is listed, with the sum that it has.
func (r made) testSums(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(r.dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Errorf("line %q", line)
		}
		listed[name] = sum
	}
	want := sums(t, r.dist)
	delete(want, "SHA256SUMS")
	if len(want) != 2 {
		t.Errorf("%d files, want an archive and its bill", len(want))
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("SHA256SUMS (-files +listed):\n%s", diff)
	}
}

// testContents unpacks the archive and compares the names and modes.
func (r made) testContents(t *testing.T) {
	want := map[string]string{
		"LICENSE": "-rw-r--r--", "README.md": "-rw-r--r--", "THIRD-PARTY-NOTICES": "-rw-r--r--",
		"iggy-kafka-gateway": "-rwxr-xr-x", "iggy-embedded": "-rwxr-xr-x", "kafkawire": "-rwxr-xr-x",
		"completions/bash/iggy-kafka-gateway":      "-rw-r--r--",
		"completions/zsh/_iggy-kafka-gateway":      "-rw-r--r--",
		"completions/fish/iggy-kafka-gateway.fish": "-rw-r--r--",
	}
	if runtime.GOOS == "linux" {
		want["systemd/iggy-kafka-gateway.service"] = "-rw-r--r--"
		want["systemd/iggy-kafka-gateway.env"] = "-rw-r--r--"
	}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md"} {
		pages, err := filepath.Glob(filepath.Join(repository(t), pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			want[strings.TrimPrefix(page, repository(t)+"/")] = "-rw-r--r--"
		}
	}
	dir, got := r.unpacked, map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if info.Size() == 0 {
			t.Errorf("%s is empty", name)
		}
		got[filepath.ToSlash(name)] = info.Mode().String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
}

// testPrograms checks that what was built needs nothing of the machine it runs on and tells nothing of the one it was built on.
func (r made) testPrograms(t *testing.T) {
	for _, name := range programs() {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(r.unpacked, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, folder := range []string{repository(t), goEnv(t, "GOMODCACHE"), goEnv(t, "GOROOT")} {
				if bytes.Contains(data, []byte(folder+"/")) {
					t.Errorf("the folder %s is in it", folder)
				}
			}
			if runtime.GOOS == "linux" {
				checkStatic(t, data)
			}
		})
	}
	if version := output(t, filepath.Join(r.unpacked, "iggy-kafka-gateway"), "version"); !strings.Contains(version, " "+r.version()+" ") {
		t.Errorf("version says %q, want %s in it", version, r.version())
	}
}

// checkStatic fails unless the ELF file is complete in itself: no loader, no library.
func checkStatic(t *testing.T, data []byte) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("it asks for a dynamic loader")
		}
	}
	if libraries, err := file.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("it needs %v", libraries)
	}
}

// testBill compares the bill of materials with what Go says that the programs were linked from.
func (r made) testBill(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(r.dist, "*.cdx.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("bills: %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.BOMFormat != "CycloneDX" {
		t.Errorf("format %q", bill.BOMFormat)
	}
	var got, want []string
	for _, c := range bill.Components {
		got = append(got, c.Name+" "+c.Version)
		if !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%s has the package URL %s", c.Name, c.PURL)
		}
	}
	for _, name := range programs() {
		info, err := buildinfo.ReadFile(filepath.Join(r.unpacked, name))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, "std "+strings.TrimPrefix(info.GoVersion, "go"))
		for _, m := range append(info.Deps, &info.Main) {
			if strings.HasPrefix(m.Path, "github.com/iggy-kafka/iggy-kafka/") {
				m.Version = r.version()
			}
			want = append(want, m.Path+" "+m.Version)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("modules (-linked +billed):\n%s", diff)
	}
}

func programs() []string { return []string{"iggy-kafka-gateway", "iggy-embedded", "kafkawire"} }

// buildTool compiles the command that `make release` runs.
func buildTool(t *testing.T) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "release")
	output(t, "go", "-C", filepath.Join(repository(t), "deploy"), "build", "-o", tool, "./release")
	return tool
}

// makeRelease makes one for this machine's platform only.
func makeRelease(t *testing.T, tool, dist string, environment ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, "-root", repository(t), "-out", dist, "-platforms", runtime.GOOS+"/"+runtime.GOARCH)
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making the release: %v\n%s", err, out)
	}
}

// unpack unpacks the release's archive in an empty folder, as users do, and returns the folder in it.
func unpack(t *testing.T, dist string) string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dist, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives: %v, %v", archives, err)
	}
	empty := t.TempDir()
	output(t, "tar", "-xzf", archives[0], "-C", empty)
	dirs, err := filepath.Glob(filepath.Join(empty, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("unpacked: %v, %v", dirs, err)
	}
	return dirs[0]
}

// sums are the SHA-256 sums of the files of a folder.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sums[file.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return sums
}

func goEnv(t *testing.T, name string) string { return strings.TrimSpace(output(t, "go", "env", name)) }

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		var stderr []byte
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			stderr = exit.Stderr
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr)
	}
	return string(out)
}

// repository is the folder of the workspace.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}
