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
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "..", "the repository's folder")
	out := flags.String("out", "../dist", "the folder to write to; what it holds goes")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "what to build for, os/arch each")
	if err := flags.Parse(args); err != nil {
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
	return errors.Join(r.make(ctx, targets, *out), os.RemoveAll(work))
}

// release is one run of the command.
type release struct {
	root   string // of the repository
	work   string // what is built lies here
	commit commit
}

// make writes everything for all platforms into the folder out. The folder is replaced at the end: one that is
// there is whole.
func (r release) make(ctx context.Context, targets []platform, out string) error {
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
	return replace(out, dist)
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
	entries := append(r.documents(target), completions...)
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
func (r release) documents(target platform) []entry {
	entries := []entry{
		{name: "LICENSE", path: filepath.Join(r.root, "LICENSE")},
		{name: "README.md", path: filepath.Join(r.root, "deploy/release/README.md")},
	}
	if target.os == "linux" {
		for _, name := range []string{"iggy-kafka-gateway.service", "iggy-kafka-gateway.env"} {
			entries = append(entries, entry{name: "systemd/" + name, path: filepath.Join(r.root, "deploy/systemd", name)})
		}
	}
	return entries
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

// replace puts the folder made in the place of the folder old.
func replace(old, made string) error {
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if err := os.CopyFS(old, os.DirFS(made)); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
