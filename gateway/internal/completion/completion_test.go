// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package completion_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/completion"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/doctor"
)

// shell finds a shell, and writes its script into a folder that is empty but for it and two other files.
func shell(t *testing.T, name string) (path, script string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("REQUIRE_"+strings.ToUpper(name)) == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	model, err := config.Model()
	if err != nil {
		t.Fatal(err)
	}
	own, err := doctor.Model()
	if err != nil {
		t.Fatal(err)
	}
	text, err := completion.Script(name, model, map[string]*kong.Application{"doctor": own})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, text := range map[string][]byte{"script": text, "gateway.pem": nil, "gateway.key": nil} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path, filepath.Join(dir, "script")
}

func output(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// cases are command lines, taken apart as a shell does, whose last word is completed.
func cases() []struct {
	words []string
	want  string // between spaces; only these, in no order
} {
	type c = struct {
		words []string
		want  string
	}
	return []c{
		{[]string{"doc"}, "doctor"},
		{[]string{"print"}, "print-config"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"--emb"}, "--embedded --embedded-store --embedded-fsync --embedded-addr"},
		{[]string{"serve", "--advertised-"}, "--advertised-host --advertised-port"},
		{[]string{"doctor", "--tls-"}, "--tls-ca-file --tls-cert-file --tls-key-file"},
		{[]string{"doctor", "--js"}, "--json"},
		{[]string{"doctor", "--embed"}, ""},
		{[]string{"--log-format", ""}, "text json"},
		{[]string{"check", "--log-format", "j"}, "json"},
		{[]string{"--tls-cert-file", "gate"}, "gateway.pem gateway.key"},
		{[]string{"doctor", "--password-file", "gateway.p"}, "gateway.pem"},
		{[]string{"--bind-addr", "doc"}, ""},
		{[]string{"--log-level", "w"}, "warn"},
		{[]string{"--topic-map-path", "gateway.k"}, "gateway.key"},
	}
}

func sorted(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// TestBash completes in bash: readline's variables are set as it sets them.
func TestBash(t *testing.T) {
	bash, script := shell(t, "bash")
	run := func(words ...string) string {
		return output(t, filepath.Dir(script), bash, append([]string{"--norc", "-c", `source "$0"
			compopt() { :; } # is for readline, which does not run here
			COMP_WORDS=(iggy-kafka-gateway "$@") COMP_CWORD=$#
			_iggy_kafka_gateway
			printf '%s\n' "${COMPREPLY[@]}"
			complete -p iggy-kafka-gateway >/dev/null`, script}, words...)...)
	}
	for _, tc := range append(cases(), []struct {
		words []string
		want  string
	}{
		{[]string{"--log-format", "="}, "text json"}, // an equals sign is a word of its own there
		{[]string{"--log-format", "=", "t"}, "text"},
	}...) {
		if diff := cmp.Diff(sorted(tc.want), sorted(run(tc.words...))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.words, diff)
		}
	}
}

// TestFish completes in fish, which says itself what it would offer.
func TestFish(t *testing.T) {
	fish, script := shell(t, "fish")
	for _, tc := range append(cases(), struct {
		words []string
		want  string
	}{[]string{"--log-format=t"}, "--log-format=text"}) {
		line := "iggy-kafka-gateway " + strings.Join(tc.words, " ")
		var got strings.Builder
		for offer := range strings.Lines(output(t, filepath.Dir(script), fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, line)) {
			word, _, _ := strings.Cut(offer, "\t") // behind it is what it is
			got.WriteString(word + "\n")
		}
		if diff := cmp.Diff(sorted(tc.want), sorted(got.String())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// TestZsh has zsh read the script.
func TestZsh(t *testing.T) {
	zsh, script := shell(t, "zsh")
	output(t, filepath.Dir(script), zsh, "-f", "-n", script)
	output(t, filepath.Dir(script), zsh, "-f", "-c", `autoload -U compinit; compinit -u -D; source "$1" && whence -w _iggy_kafka_gateway`, "zsh", script)
}

func TestUnknownShell(t *testing.T) {
	if _, err := completion.Script("tcsh", &kong.Application{Node: &kong.Node{}}, nil); err == nil {
		t.Error("a script for a shell that nobody knows")
	}
}
