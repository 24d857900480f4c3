// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testJVM runs what else there is for Kafka on the JVM, side by side: starting them takes time, and then they wait.
func testJVM(t *testing.T, target *harness.Target) {
	if !slowClients(target) {
		t.Skip("starts many JVMs: run against a broker and one gateway")
	}
	for _, s := range []scenario{
		{"streams", testStreams},
		{"connect-standalone", testConnectStandalone},
		{"connect-distributed", testConnectDistributed},
		{"mirrormaker", testMirrorMaker},
		{"flink", testFlink},
		{"java-old", testJavaOld},
		{"java-client", testJavaClient},
		{"tools", testTools},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, target)
		})
	}
}

// jvm is a folder of e2e/clients whose run command starts a JVM.
type jvm struct{ folder string }

// jvmProgram fetches and compiles what is in a folder. The test is skipped, or fails if REQUIRE_JAVA=true, where that
// cannot be done.
func jvmProgram(t *testing.T, folder string) jvm {
	t.Helper()
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "java", err)
		}
	}
	j := jvm{folder}
	if out, err := exec.CommandContext(within(t, 4*limit), j.path("run")).CombinedOutput(); err != nil {
		missing(t, "java", fmt.Errorf("preparing %s: %w\n%s", folder, err, out))
	}
	return j
}

func (j jvm) path(file string) string { return filepath.Join(clientsFolder, j.folder, file) }

// version is that of an artifact in the folder's pom.xml.
func (j jvm) version(t *testing.T, artifact string) string {
	t.Helper()
	text, err := os.ReadFile(j.path("pom.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var project struct {
		Dependencies []struct {
			Artifact string `xml:"artifactId"`
			Version  string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(text, &project); err != nil {
		t.Fatal(err)
	}
	for _, d := range project.Dependencies {
		if d.Artifact == artifact {
			return d.Version
		}
	}
	t.Fatalf("%s does not name %s", j.path("pom.xml"), artifact)
	return ""
}

// run runs the folder's command to its end and returns what it printed.
func (j jvm) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(within(t, 4*limit), j.path("run"), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", j.folder, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// start starts the folder's command, which runs until it is stopped. Its log is shown if the test fails.
func (j jvm) start(t *testing.T, name string, ready func(log string) func(context.Context) error, args ...string) *harness.Program {
	t.Helper()
	log := filepath.Join(t.TempDir(), name+".log")
	if kept := os.Getenv("E2E_LOGS"); kept != "" {
		log = filepath.Join(kept, j.folder+"-"+name+".log")
	}
	began := time.Now()
	program, err := harness.Client{
		Name: name, Command: j.path("run"), Args: args, Log: log, Ready: ready(log), StopCode: harness.JVMStopCode,
	}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is ready after %v", name, time.Since(began).Round(100*time.Millisecond))
	t.Cleanup(func() {
		program.Kill() // no more than what the test has left running
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("--- %s\n%s", log, text[max(0, len(text)-16<<10):])
		}
	})
	return program
}

// stop stops a program that start has started.
func stop(t *testing.T, program *harness.Program) {
	t.Helper()
	began := time.Now()
	if err := program.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is stopped after %v", filepath.Base(program.Log()), time.Since(began).Round(100*time.Millisecond))
}

// prints is ready once the program's log has a text.
func prints(text string) func(log string) func(context.Context) error {
	return func(log string) func(context.Context) error {
		return func(context.Context) error {
			printed, err := os.ReadFile(log)
			if err == nil && !bytes.Contains(printed, []byte(text)) {
				err = errors.New("it has not printed " + text)
			}
			return err
		}
	}
}

// printedLines returns the ends of those lines of a program's log that begin with a text.
func printedLines(t *testing.T, program *harness.Program, start string) []string {
	t.Helper()
	text, err := os.ReadFile(program.Log())
	if err != nil {
		t.Fatal(err)
	}
	var ends []string
	for line := range strings.Lines(string(text)) {
		if end, ok := strings.CutPrefix(strings.TrimSpace(line), start); ok {
			ends = append(ends, end)
		}
	}
	return ends
}
