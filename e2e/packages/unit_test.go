// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testUnit runs `check` with the command line of the systemd unit in the archive, and with the settings of the file beside it.
func (r made) testUnit(t *testing.T) {
	credentials := t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, "iggy-password"), []byte("a password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line := directive(t, filepath.Join(r.unpacked, "systemd/iggy-kafka-gateway.service"), "ExecStart")
	args := strings.Fields(strings.ReplaceAll(line, "${CREDENTIALS_DIRECTORY}", credentials))
	if args[0] != "/usr/local/bin/iggy-kafka-gateway" {
		t.Errorf("the unit runs %s", args[0])
	}
	check := exec.CommandContext(t.Context(), filepath.Join(r.unpacked, "iggy-kafka-gateway"), append([]string{"check"}, args[1:]...)...)
	check.Env = append(environment(), settings(t, filepath.Join(r.unpacked, "systemd/iggy-kafka-gateway.env"))...)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}

// directive returns the value of the only line NAME=value of a unit file.
func directive(t *testing.T, file, name string) string {
	t.Helper()
	var values []string
	for _, line := range lines(t, file) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			values = append(values, value)
		}
	}
	if len(values) != 1 {
		t.Fatalf("%s has %d lines %s=", file, len(values), name)
	}
	return values[0]
}

// settings returns the variables of a file that systemd's EnvironmentFile= reads.
func settings(t *testing.T, file string) []string {
	t.Helper()
	var variables []string
	for _, line := range lines(t, file) {
		if name, _, ok := strings.Cut(line, "="); ok && strings.ToUpper(name) == name {
			variables = append(variables, line)
		}
	}
	if len(variables) == 0 {
		t.Fatalf("%s has no settings", file)
	}
	return variables
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}
