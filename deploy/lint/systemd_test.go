// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	unitFile            = "../systemd/iggy-kafka-gateway.service"
	unitEnvironmentFile = "../systemd/iggy-kafka-gateway.env"
	// maxExposure is in tenths: 10.0 is a service that may do everything, systemd calls less than 5 OK. The unit has 1.2.
	maxExposure = "20"
)

// TestUnit lets systemd read the unit: unknown directives and values are errors.
func TestUnit(t *testing.T) {
	analyze := systemdAnalyze(t)
	// The program is not where the unit says; true is somewhere.
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(unitFile))
	text := strings.Replace(string(read(t, unitFile)), "ExecStart="+programPath+" ", "ExecStart="+program+" ", 1)
	if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// What it says on the standard error is a complaint even where it exits with 0, as for an unknown directive.
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", copied).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestUnitExposure has systemd judge what a gateway that was taken over could do to the machine.
func TestUnitExposure(t *testing.T) {
	analyze := systemdAnalyze(t)
	out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold="+maxExposure, "--no-pager", unitFile).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

func systemdAnalyze(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil && os.Getenv("REQUIRE_SYSTEMD_ANALYZE") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}

// unitArguments is the unit's command line, with a folder of credentials as systemd makes it.
func unitArguments(t *testing.T) []string {
	t.Helper()
	line := directive(t, "ExecStart")
	args := strings.Fields(strings.ReplaceAll(line, "${CREDENTIALS_DIRECTORY}", filepath.Dir(passwordFile(t))))
	if args[0] != programPath {
		t.Errorf("the unit runs %s", args[0])
	}
	return args[1:]
}

// unitEnvironment is what the file of settings beside the unit says.
func unitEnvironment(t *testing.T) map[string]string {
	t.Helper()
	environment := map[string]string{}
	for line := range strings.Lines(string(read(t, unitEnvironmentFile))) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			environment[name] = value
		}
	}
	return environment
}

func unitGrace(t *testing.T) time.Duration {
	t.Helper()
	seconds, err := strconv.Atoi(directive(t, "TimeoutStopSec"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds) * time.Second
}

// directive returns the value of the unit's only line NAME=value.
func directive(t *testing.T, name string) string {
	t.Helper()
	var values []string
	for line := range strings.Lines(string(read(t, unitFile))) {
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+"="); ok {
			values = append(values, value)
		}
	}
	if len(values) != 1 {
		t.Fatalf("the unit has %d lines %s=", len(values), name)
	}
	return values[0]
}
