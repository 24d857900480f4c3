// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

const (
	dockerFile  = "../docker/Dockerfile"
	programPath = "/usr/local/bin/iggy-kafka-gateway"
)

// TestDockerfile parses the file as BuildKit does, with the rules of its linter that look at instructions.
func TestDockerfile(t *testing.T) {
	for _, warning := range lintDockerfile(t, read(t, dockerFile)) {
		t.Error(warning)
	}
}

// TestDockerfileLinter shows that the check can fail.
func TestDockerfileLinter(t *testing.T) {
	got := lintDockerfile(t, []byte("FROM scratch as Build\nMAINTAINER nobody\n"))
	want := []string{"FromAsCasing", "MaintainerDeprecated", "StageNameCasing"}
	slices.Sort(got)
	var rules []string
	for _, warning := range got {
		rule, _, _ := strings.Cut(warning, ":")
		rules = append(rules, rule)
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func lintDockerfile(t *testing.T, text []byte) []string {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, w := range parsed.Warnings {
		warnings = append(warnings, "parser: "+w.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, at []parser.Range) {
		line := 0
		if len(at) > 0 {
			line = at[0].Start.Line
		}
		warnings = append(warnings, linter.LintFormatShort(rule, message, line))
	}})
	if _, _, err := instructions.Parse(parsed.AST, lint); err != nil {
		t.Fatal(err)
	}
	return warnings
}

// TestBases: each base image is named with its tag, which is not latest, and Go's is the one that the modules ask for.
func TestBases(t *testing.T) {
	named := map[string]bool{}
	for _, stage := range stages(t) {
		if !named[stage.BaseName] {
			checkImage(t, stage.BaseName)
		}
		named[stage.Name] = true
	}
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(read(t, "../go.mod"))
	if base, want := stages(t)[0].BaseName, "golang:"+string(release[1])+"-"; !strings.HasPrefix(base, want) {
		t.Errorf("the base of the build is %s, want %s...", base, want)
	}
}

// checkImage fails unless the image has a tag or a digest that says which one it is.
func checkImage(t *testing.T, image string) {
	t.Helper()
	_, tag, tagged := strings.Cut(path.Base(image), ":")
	if !tagged || strings.HasPrefix(tag, "latest") {
		t.Errorf("image %s: which version?", image)
	}
}

// TestImage checks what the image runs: the gateway itself, as a user that is not root, and asked for its health by the gateway
// itself, as there is no shell.
func TestImage(t *testing.T) {
	var user string
	var entrypoint, health, exposed []string
	for _, command := range last(t).Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			if c.PrependShell {
				t.Error("the entry point needs a shell")
			}
			entrypoint = c.CmdLine
		case *instructions.HealthCheckCommand:
			health = c.Health.Test
		case *instructions.ExposeCommand:
			exposed = append(exposed, c.Ports...)
		case *instructions.RunCommand:
			t.Errorf("%s: the base has no shell", c)
		}
	}
	if id, _, _ := strings.Cut(user, ":"); !regexp.MustCompile(`^[1-9]\d*$`).MatchString(id) {
		t.Errorf("user %q, want a number that is not root's", user)
	}
	if diff := cmp.Diff([]string{programPath}, entrypoint); diff != "" {
		t.Errorf("entry point (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"CMD", programPath, "healthcheck"}, health); diff != "" {
		t.Errorf("health check (-want +got):\n%s", diff)
	}
	environment := imageEnvironment(t)
	var listening []string
	for _, name := range []string{"IGGY_KAFKA_BIND_ADDR", "IGGY_KAFKA_ADMIN_ADDR"} {
		listening = append(listening, strconv.Itoa(port(t, environment, name)))
	}
	if diff := cmp.Diff(listening, exposed); diff != "" {
		t.Errorf("ports (-listening +exposed):\n%s", diff)
	}
}

// TestDockerignore: the build's version says -dirty if a file of the commit is missing, so none may be left out.
func TestDockerignore(t *testing.T) {
	patterns, err := ignorefile.ReadAll(bytes.NewReader(read(t, dockerFile+".dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip(err) // an archive of the sources
	}
	tracked, err := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.Lines(string(tracked)) {
		file = strings.TrimSuffix(file, "\n")
		if ignored, err := matcher.MatchesOrParentMatches(file); err != nil || ignored {
			t.Errorf("%s is left out: %v, %v", file, ignored, err)
		}
	}
	for _, file := range []string{"bin/iggy-kafka-gateway", "gateway/iggy-kafka-data/000001.log", "dist/SHA256SUMS"} {
		if ignored, err := matcher.MatchesOrParentMatches(file); err != nil || !ignored {
			t.Errorf("%s is not left out: %v", file, err)
		}
	}
}

func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(read(t, dockerFile)))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

func last(t *testing.T) instructions.Stage {
	t.Helper()
	all := stages(t)
	return all[len(all)-1]
}

// imageEnvironment is what containers of the image have in their environment.
func imageEnvironment(t *testing.T) map[string]string {
	t.Helper()
	environment := map[string]string{}
	for _, command := range last(t).Commands {
		if env, ok := command.(*instructions.EnvCommand); ok {
			for _, pair := range env.Env {
				environment[pair.Key] = pair.Value
			}
		}
	}
	return environment
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
