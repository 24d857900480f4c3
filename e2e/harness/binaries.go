// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Binaries are the paths of the programs under test.
type Binaries struct {
	Gateway string // iggy-kafka-gateway
	Iggy    string // iggy-embedded
}

// Build compiles the programs into the repository's bin, where they are linked again only when they have changed. Each
// is built in its own module, so this works inside the workspace and without it. Tags are build tags: steppedclock makes
// a gateway whose wall clock [SteppedClock] steps.
func Build(ctx context.Context, tags ...string) (Binaries, error) {
	root, err := repository()
	if err != nil {
		return Binaries{}, err
	}
	args, dir := []string{"build"}, filepath.Join(root, "bin", "e2e")
	if os.Getenv("E2E_RACE") == "true" {
		args, dir = append(args, "-race"), dir+"-race"
	}
	if len(tags) > 0 {
		args, dir = append(args, "-tags", strings.Join(tags, ",")), dir+"-"+strings.Join(tags, "-")
	}
	build := func(module, name string) (string, error) {
		path := filepath.Join(dir, name)
		cmd := exec.CommandContext(ctx, "go", append(slices.Clip(args), "-o", path, "./cmd/"+name)...)
		cmd.Dir = filepath.Join(root, module)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("harness: building %s: %w\n%s", name, err, out)
		}
		return path, nil
	}
	gateway, gatewayErr := build("gateway", "iggy-kafka-gateway")
	iggy, iggyErr := build("bridge/embedded", "iggy-embedded")
	return Binaries{Gateway: gateway, Iggy: iggy}, errors.Join(gatewayErr, iggyErr)
}

// repository finds the folder of go.work, above the package whose test or program runs.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("harness: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("harness: no go.work above the working folder")
		}
		dir = parent
	}
}

// environment is this process's without what would configure a program under test behind the test's back.
func environment(extra ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "IGGY_") && !strings.HasPrefix(entry, "KAFKA_") {
			env = append(env, entry)
		}
	}
	return append(env, extra...)
}
