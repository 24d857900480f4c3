// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name           string
		args, environ  []string
		code           int
		stdout, stderr string // what each must contain
	}{
		{name: "help", args: []string{"--help"}, code: exitOK, stdout: "--bind-addr"},
		{name: "version", args: []string{"version"}, code: exitOK, stdout: "iggy-kafka-gateway "},
		{name: "check", args: []string{"check", "--embedded"}, code: exitOK},
		{name: "print-config", args: []string{"print-config", "--embedded"}, code: exitOK, stdout: "IGGY_KAFKA_EMBEDDED=true\n"},
		{name: "faults", args: []string{"check"}, environ: []string{"IGGY_KAFKA_EMBEDED=true"}, code: exitUsage, stderr: `IGGY_KAFKA_EMBEDED="******": no such setting`},
		{name: "serve without its topic map", environ: []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_TOPIC_MAP_PATH=none.toml"}, code: exitUsage, stderr: `IGGY_KAFKA_TOPIC_MAP_PATH="none.toml": open`},
		{name: "unknown command", args: []string{"start"}, code: exitUsage, stderr: "unexpected argument start"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.args, test.environ, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(stdout.String(), test.stdout) || test.stdout == "" && stdout.Len() > 0 {
				t.Errorf("stdout %q, want %q in it", stdout.String(), test.stdout)
			}
			if !strings.Contains(stderr.String(), test.stderr) || test.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr %q, want %q in it", stderr.String(), test.stderr)
			}
		})
	}
}
