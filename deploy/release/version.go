// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tagPrefix begins the tags that release the gateway. Go wants a module's tags to begin with its folder.
const tagPrefix = "gateway/"

// commit is what is released.
type commit struct {
	version string    // v0.1.0 at the tag gateway/v0.1.0
	time    time.Time // when it was committed
	known   bool      // there is a history that it comes from
}

// describe reads the commit of the repository that root is the folder of. Sources without their history, as in an archive of them, are
// of no version, and of the year 1970.
func describe(ctx context.Context, root string) (commit, error) {
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, fs.ErrNotExist) {
		return commit{version: "v0.0.0-unknown", time: time.Unix(0, 0).UTC()}, nil
	}
	description, err := git(ctx, root, "describe", "--tags", "--match", tagPrefix+"v*", "--always", "--abbrev=12", "--dirty")
	if err != nil {
		return commit{}, err
	}
	seconds, err := git(ctx, root, "log", "-1", "--format=%ct")
	if err != nil {
		return commit{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("release: the commit's time: %w", err)
	}
	return commit{version: versionOf(description), time: time.Unix(unix, 0).UTC(), known: true}, nil
}

// versionOf makes a version of what git describe says: the tag's; v0.1.0-3-g012345 three commits after it; v0.0.0-g012345 where no tag came
// before. "-dirty" at the end says that the tree has changes that are not committed.
func versionOf(description string) string {
	if version, tagged := strings.CutPrefix(description, tagPrefix); tagged {
		return version
	}
	return "v0.0.0-g" + description
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	cmd.Env = append(os.Environ(), trust(root)...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("release: git %s: %w: %s", args[0], err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("release: git: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// trust lets git read a repository of another user, as in a container: whoever makes a release of it runs its code anyway.
func trust(root string) []string {
	return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=" + root}
}
