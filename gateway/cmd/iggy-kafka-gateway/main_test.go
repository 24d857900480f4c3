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
		{name: "check", args: []string{"check", "--embedded"}, code: exitOK, stdout: "Nothing is wrong."},
		{name: "print-config", args: []string{"print-config", "--embedded"}, code: exitOK, stdout: "IGGY_KAFKA_EMBEDDED=true\n"},
		{name: "faults", args: []string{"check"}, environ: []string{"IGGY_KAFKA_EMBEDED=true"}, code: exitUsage, stderr: `IGGY_KAFKA_EMBEDED="true": no such setting, did you mean IGGY_KAFKA_EMBEDDED?`},
		{name: "serve without its topic map", environ: []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_TOPIC_MAP_PATH=none.toml"}, code: exitUsage, stderr: `IGGY_KAFKA_TOPIC_MAP_PATH="none.toml": open`},
		{name: "version in a bad environment", args: []string{"version"}, environ: []string{"IGGY_KAFKA_LOG_LEVEL=loud"}, code: exitOK, stdout: "iggy-kafka-gateway "},
		{name: "completion", args: []string{"completion", "bash"}, environ: []string{"IGGY_KAFKA_BOGUS=1"}, code: exitOK, stdout: "complete -F"},
		{name: "completion of an unknown shell", args: []string{"completion", "tcsh"}, code: exitUsage, stderr: `must be one of "bash","zsh","fish"`},
		{name: "doctor's help", args: []string{"doctor", "--help"}, code: exitOK, stdout: "--tls-ca-file"},
		{name: "doctor without a server", args: []string{"doctor", "127.0.0.1:1"}, code: exitFailed, stdout: "failed   connect"},
		{name: "doctor without a password", args: []string{"doctor", "127.0.0.1:1", "--user=ann"}, code: exitUsage, stderr: "KAFKA_PASSWORD"},
		{name: "doctor with bad settings", args: []string{"doctor"}, environ: []string{"IGGY_KAFKA_BOGUS=1"}, code: exitFailed, stdout: "failed   settings"},
		{name: "health of nobody", args: []string{"healthcheck", "--admin-addr=127.0.0.1:1"}, code: exitFailed, stderr: "connection refused"},
		{name: "health of who has no admin listener", args: []string{"healthcheck", "--admin-addr="}, code: exitUsage, stderr: "IGGY_KAFKA_ADMIN_ADDR"},
		{name: "version as a flag", args: []string{"--version"}, code: exitOK, stdout: "iggy-kafka-gateway "},
		{name: "help as a command", args: []string{"help"}, code: exitOK, stdout: "--bind-addr"},
		{name: "doctor without the value of a flag", args: []string{"doctor", "--admin"}, code: exitUsage, stderr: "--admin: needs a value; iggy-kafka-gateway doctor --help"},
		{name: "unknown command", args: []string{"start"}, code: exitUsage, stderr: "unexpected argument start; iggy-kafka-gateway --help"},
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
