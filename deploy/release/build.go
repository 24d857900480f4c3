// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
)

// program is one that was built.
type program struct {
	name string
	path string
	info *debug.BuildInfo
}

// sources are the modules and packages of the programs that a release holds, the gateway first.
func sources() []source {
	return []source{
		{"iggy-kafka-gateway", "gateway"},
		{"iggy-embedded", "bridge/embedded"},
		{"kafkawire", "wire"},
	}
}

// source is the program name, whose package is cmd/name in the module.
type source struct{ name, module string }

func (s source) pkg() string { return "./cmd/" + s.name }

// build compiles the programs for the platform.
func (r release) build(ctx context.Context, target platform) ([]program, error) {
	var programs []program
	for _, s := range sources() {
		p, err := r.buildOne(ctx, target, s)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// buildOne compiles a program. It is static (no C library), without the paths of this machine in it, and stripped of what only
// debuggers read: stack traces and profiles keep their names and lines.
func (r release) buildOne(ctx context.Context, target platform, s source) (program, error) {
	path := filepath.Join(r.work, target.os+"-"+target.arch, s.name)
	if _, err := os.Stat(path); err != nil { // not yet in this run
		_, err := r.goTool(ctx, target, s.module, "build", "-trimpath", "-buildvcs="+strconv.FormatBool(r.commit.known),
			"-ldflags", "-s -w -X main.version="+r.commit.version, "-o", path, s.pkg())
		if err != nil {
			return program{}, err
		}
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return program{}, fmt.Errorf("release: %s: %w", s.name, err)
	}
	return program{name: s.name, path: path, info: info}, nil
}

// goTool runs the go command in a module's folder, outside the workspace: what is released has the dependencies that the
// module's own go.mod names, not those of the tests beside it.
func (r release) goTool(ctx context.Context, target platform, module string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(r.root, module)
	cmd.Env = append(append(os.Environ(), trust(r.root)...), "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=", "CGO_ENABLED=0",
		"GOOS="+target.os, "GOARCH="+target.arch, "GOAMD64=v1", "GOARM64=v8.0")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("release: go %s in %s: %w\n%s", args[0], module, err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("release: go: %w", err)
	}
	return out, nil
}

// completions are what the gateway's own command writes for each shell. It has to run: so it is the one for this machine.
func (r release) completions(ctx context.Context) ([]entry, error) {
	gateway, err := r.buildOne(ctx, platform{runtime.GOOS, runtime.GOARCH}, sources()[0])
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, c := range []struct{ shell, file string }{
		{"bash", "iggy-kafka-gateway"}, {"zsh", "_iggy-kafka-gateway"}, {"fish", "iggy-kafka-gateway.fish"},
	} {
		var out, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, gateway.path, "completion", c.shell)
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("release: completion %s: %w: %s", c.shell, err, stderr.Bytes())
		}
		entries = append(entries, entry{name: "completions/" + c.shell + "/" + c.file, data: out.Bytes()})
	}
	return entries, nil
}
