// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNames looks for names of settings in everything that deploy ships: the gateway ends its start at one that it does not know.
func TestNames(t *testing.T) {
	known := settings(t)
	name := regexp.MustCompile(`\bIGGY_KAFKA_[A-Z0-9_]*[A-Z0-9]`)
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, name := range name.FindAllString(line, -1) {
				found[name] = true
				if _, ok := known[name]; !ok {
					t.Errorf("%s:%d: there is no setting %s", path, i+1, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Errorf("found only %v: is the pattern right?", slices.Sorted(maps.Keys(found)))
	}
}

// TestAccepted lets the gateway check the settings of everything that starts it.
func TestAccepted(t *testing.T) {
	if testing.Short() {
		t.Skip("the gateway is not built in short mode")
	}
	gateway := buildGateway(t)
	for _, start := range starts(t) {
		t.Run(start.name, func(t *testing.T) {
			check := exec.CommandContext(t.Context(), gateway, append([]string{"check"}, start.args...)...)
			check.Env = []string{"PATH=" + os.Getenv("PATH")}
			for name, value := range start.environment {
				check.Env = append(check.Env, name+"="+value)
			}
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("check: %v\n%s", err, out)
			}
		})
	}
}

// start is one way in which deploy starts the gateway. Files that only exist there are replaced.
type start struct {
	name        string
	args        []string
	environment map[string]string
}

func starts(t *testing.T) []start {
	image := imageEnvironment(t)
	with := func(other map[string]string) map[string]string {
		all := maps.Clone(image)
		maps.Copy(all, other)
		return all
	}
	return []start{
		{"image with an Iggy of its own", []string{"--embedded", "--advertised-host=localhost"}, image},
		{"compose", nil, with(composeEnvironment(t, composeFile))},
		{"compose, two listeners", nil, with(composeEnvironment(t, composeFile, twoListenersFile))},
		{"kubernetes", nil, with(podEnvironment(t))},
		{"systemd", unitArguments(t), unitEnvironment(t)},
	}
}

// TestEndings compares the time that whatever stops the gateway gives it with what the gateway may take: it finishes the
// requests in flight, and then has 5 s to sign out of Iggy.
func TestEndings(t *testing.T) {
	seconds, err := strconv.Atoi(settings(t)["IGGY_KAFKA_SHUTDOWN_DRAIN_TIMEOUT_SECS"])
	if err != nil {
		t.Fatal(err)
	}
	need := time.Duration(seconds)*time.Second + 5*time.Second
	for name, grace := range map[string]time.Duration{"compose": composeGrace(t), "kubernetes": podGrace(t), "systemd": unitGrace(t)} {
		if grace <= need {
			t.Errorf("%s kills the gateway after %v; it may take %v", name, grace, need)
		}
	}
}

// settings are the defaults of the gateway's settings by name, as docs/settings.md has them from its code.
func settings(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(IGGY_KAFKA_[A-Z0-9_]+)` \\| (?:`([^`]*)`)?").FindAllStringSubmatch(string(text), -1) {
		defaults[row[1]] = row[2]
	}
	if len(defaults) < 50 {
		t.Fatalf("docs/settings.md has %d settings: has its form changed?", len(defaults))
	}
	return defaults
}

func buildGateway(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "iggy-kafka-gateway")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/iggy-kafka-gateway")
	build.Dir = "../../gateway"
	build.Env = append(os.Environ(), "GOWORK="+absolute(t, "../../go.work")) // as `make build`, whose work it finds done
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// port returns the port of the address that a variable holds.
func port(t *testing.T, environment map[string]string, name string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(environment[name])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return number
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// passwordFile makes a file like those that hold the password where the gateway runs.
func passwordFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "iggy-password")
	if err := os.WriteFile(file, []byte("a password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
