// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command release builds the archives that users download: for each platform one .tar.gz with the programs, and one
// software bill of materials (CycloneDX), and SHA256SUMS over all of them.
//
// The same commit and the same Go give the same bytes, whoever builds it and wherever: nothing of the machine, its clock or
// its folders gets in. The one time that is written, in archives and bills alike, is the commit's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "..", "the repository's folder")
	out := flags.String("out", "../dist", "the folder to write to, in place of the release that it holds")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "what to build for, os/arch each")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	targets, err := parsePlatforms(*platforms)
	if err != nil {
		return err
	}
	repository, err := filepath.Abs(*root)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	commit, err := describe(ctx, repository)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	r := release{root: repository, work: work, commit: commit}
	return errors.Join(r.make(ctx, targets, *out, stdout), os.RemoveAll(work))
}

// release is one run of the command.
type release struct {
	root   string // of the repository
	work   string // what is built lies here
	commit commit
}

// make writes everything for all platforms into the folder out, and tells what it wrote. An earlier release there stays until
// this one is made.
func (r release) make(ctx context.Context, targets []platform, out string, stdout io.Writer) error {
	dist := filepath.Join(r.work, "dist")
	if err := os.Mkdir(dist, 0o755); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	completions, err := r.completions(ctx)
	if err != nil {
		return err
	}
	for _, target := range targets {
		if err := r.makePlatform(ctx, target, completions, dist); err != nil {
			return err
		}
	}
	if err := writeSums(dist); err != nil {
		return err
	}
	if err := replace(out, dist); err != nil {
		return err
	}
	return listFiles(stdout, out)
}

// listFiles tells what was made.
func listFiles(w io.Writer, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	for _, file := range files {
		if _, err := fmt.Fprintln(w, filepath.Join(dir, file.Name())); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	return nil
}

// makePlatform writes the archive and the bill of one platform into dist.
func (r release) makePlatform(ctx context.Context, target platform, completions []entry, dist string) error {
	name := fmt.Sprintf("iggy-kafka-gateway_%s_%s_%s", r.commit.version, target.os, target.arch)
	programs, err := r.build(ctx, target)
	if err != nil {
		return err
	}
	bill, err := billOfMaterials(programs, target, r.commit)
	if err != nil {
		return err
	}
	notices, err := r.notices(ctx, target, bill)
	if err != nil {
		return err
	}
	entries, err := r.documents(target)
	if err != nil {
		return err
	}
	entries = append(entries, completions...)
	entries = append(entries, entry{name: "THIRD-PARTY-NOTICES", data: notices})
	for _, p := range programs {
		entries = append(entries, entry{name: p.name, path: p.path, executable: true})
	}
	if err := writeArchive(filepath.Join(dist, name+".tar.gz"), name, entries, r.commit.time); err != nil {
		return err
	}
	return writeBill(filepath.Join(dist, name+".cdx.json"), bill)
}

// documents are the files that go into an archive as they are in the repository.
func (r release) documents(target platform) ([]entry, error) {
	entries := []entry{
		{name: "LICENSE", path: filepath.Join(r.root, "LICENSE")},
		{name: "README.md", path: filepath.Join(r.root, "deploy/release/README.md")},
	}
	folders := map[string]string{"docs": "docs"}
	if target.os == "linux" {
		folders["systemd"] = "deploy/systemd"
	}
	for name, folder := range folders {
		below, err := entriesIn(filepath.Join(r.root, folder), name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, below...)
	}
	return entries, nil
}

// entriesIn are the files in and below a folder, which is called name in the archive.
func entriesIn(folder, name string) ([]entry, error) {
	var entries []entry
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, file fs.DirEntry, err error) error {
		if err == nil && !file.IsDir() {
			entries = append(entries, entry{name: name + "/" + path, path: filepath.Join(folder, path)})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return entries, nil
}

// platform is what Go calls GOOS and GOARCH.
type platform struct{ os, arch string }

func parsePlatforms(list string) ([]platform, error) {
	var targets []platform
	for _, name := range strings.Split(list, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || system == "" || arch == "" || strings.Contains(arch, "/") {
			return nil, fmt.Errorf("release: platform %q is not os/arch", name)
		}
		targets = append(targets, platform{system, arch})
	}
	return targets, nil
}

// replace puts the folder made in the place of the folder old, which may be missing or empty or hold a release, nothing else: what it
// holds goes.
func replace(old, made string) error {
	files, err := os.ReadDir(old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("release: %w", err)
	}
	if _, err := os.Stat(filepath.Join(old, sumsFile)); err != nil && len(files) > 0 {
		return fmt.Errorf("release: %s is not empty and holds no release: it has no %s", old, sumsFile)
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if err := os.CopyFS(old, os.DirFS(made)); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
