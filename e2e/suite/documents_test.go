// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/documents"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

const repositoryRoot = "../.."

// readers says, for each page with blocks of commands, what its reader has before the first one: tools, addresses, a
// broker to migrate from.
func readers() map[string]func(t *testing.T, d *desk) {
	return map[string]func(t *testing.T, d *desk){
		"README.md":                 readReadme,
		"deploy/release/README.md":  readRelease,
		"docs/manual-test.md":       readBuilt,
		"docs/migrating.md":         readMigrating,
		"docs/operations.md":        readBuilt,
		"docs/quotas.md":            readQuotas,
		"docs/running-with-iggy.md": readRunningWithIggy,
		"docs/security.md":          readSecurity,
		"docs/settings.md":          readSettings,
		"docs/troubleshooting.md":   readTroubleshooting,
		"wire/README.md":            readWire,
	}
}

// TestDocuments runs the commands of every page as they stand there, in their order, and compares what they print where
// the page says it. Only the ports are others. What is not run is listed in e2e/documents/testdata/not-run.txt.
func TestDocuments(t *testing.T) {
	pages, err := documents.Pages(repositoryRoot)
	if err != nil {
		t.Fatal(err)
	}
	notRun, err := documents.ReadNotRun(filepath.Join(repositoryRoot, "e2e/documents/testdata/not-run.txt"))
	if err != nil {
		t.Fatal(err)
	}
	left, build := readers(), builder(t)
	for _, page := range pages {
		examples := examplesOf(page, notRun)
		prepare, listed := left[page.Path]
		delete(left, page.Path)
		switch commands := slices.ContainsFunc(examples, func(e example) bool { return e.commands != "" }); {
		case commands && !listed:
			t.Errorf("nobody runs the commands of %s: add it to readers, or its commands to not-run.txt", page.Path)
		case !commands && listed:
			t.Errorf("%s has no commands to run", page.Path)
		case commands:
			t.Run(page.Path, func(t *testing.T) {
				if testing.Short() {
					t.Skip("starts servers: not in short mode")
				}
				if os.Getenv("E2E_RACE") == "true" {
					t.Skip("the page's commands say nothing of races")
				}
				t.Parallel() // readers wait more than they work
				d := newDesk(t, build)
				prepare(t, d)
				d.follow(t, page.Path, examples)
			})
		}
	}
	for path := range left {
		t.Errorf("there is no page %s", path)
	}
}

// example is commands with what they print, if the page says so, or a file.
type example struct {
	line           int
	commands       string
	prints         string
	says           bool   // prints is from the page
	among          string // lines that are among what the commands print, on whichever output
	file, contents string
}

// examplesOf lists what is to be run and written of a page.
func examplesOf(page documents.Page, notRun []documents.NotRun) []example {
	var examples []example
	behind := false // the block before was commands that are run
	for _, b := range page.Blocks {
		c := documents.Command{Page: page.Path, Line: b.Line, Text: b.Text}
		switch {
		case b.Shell():
			behind = !slices.ContainsFunc(notRun, func(n documents.NotRun) bool { return n.Covers(c) })
			if behind {
				examples = append(examples, example{line: b.Line, commands: b.Text})
			}
			continue
		case b.Language == "text" && b.Behind && behind:
			last := &examples[len(examples)-1]
			last.prints, last.says = b.Text, true
		case b.Said != "":
			examples = append(examples, example{line: b.Line, commands: "{ " + b.Said + "; } 2>&1 || true\n", among: b.Text})
		case b.File != "":
			examples = append(examples, example{line: b.Line, file: b.File, contents: b.Text})
		}
		behind = false
	}
	return examples
}

// readReadme: the gateway of make run, and the README's own clients of it.
func readReadme(t *testing.T, d *desk) {
	requireTool(t, "kcat")
	for _, tool := range []string{"javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "java", err)
		}
	}
	d.gatewayAddresses(t)
	d.set("IGGY_KAFKA_DATA_DIR=" + t.TempDir())
	d.cd = absolute(t, repositoryRoot)
	d.foreground = map[string]func(context.Context) error{"make run": d.ready}
}

// readRelease: an archive that has been unpacked, and an Iggy server.
func readRelease(t *testing.T, d *desk) {
	requireTool(t, "kcat")
	bin := d.built(t)
	target := &harness.Target{}
	if err := target.StartIggy(t.Context(), bin, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, target)
	for _, program := range []string{bin.Gateway, bin.Iggy} {
		if err := os.Symlink(program, filepath.Join(d.dir, filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
	}
	d.gatewayAddresses(t)
	d.replace("iggy.example:8090", target.Iggy.Addr, "USERNAME=gateway", "USERNAME="+target.Iggy.Username,
		"/etc/iggy-password", d.file(t, "password", target.Iggy.Password))
	d.foreground = map[string]func(context.Context) error{"./iggy-kafka-gateway --embedded": d.ready, "export IGGY_KAFKA_IGGY_ADDR=": d.ready}
}

// readBuilt: a checkout that has been built.
func readBuilt(t *testing.T, d *desk) {
	requireTool(t, "curl")
	requireTool(t, "kcat")
	d.built(t)
	d.gatewayAddresses(t)
}

// readSecurity: the same, and Kafka's tools.
func readSecurity(t *testing.T, d *desk) {
	requireTool(t, "openssl")
	d.kafkaScripts(t)
	readBuilt(t, d)
}

// readTroubleshooting: a gateway that runs.
func readTroubleshooting(t *testing.T, d *desk) {
	programs := d.built(t)
	d.command(t, filepath.Base(programs.Gateway), programs.Gateway)
	target := start(t, harness.Kinds()[0], d.build, "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0")
	d.besides(target)
	d.replace("127.0.0.1:8090", target.Iggy.Addr)
	d.set("IGGY_KAFKA_BIND_ADDR="+target.Kafka, "IGGY_KAFKA_ADMIN_ADDR="+target.Admin)
}

// readSettings: a checkout that has been built, and the settings of an embedded Iggy.
func readSettings(t *testing.T, d *desk) {
	d.built(t)
	d.set("IGGY_KAFKA_EMBEDDED=true")
}

// readQuotas: a gateway that runs, and Kafka's tools.
func readQuotas(t *testing.T, d *desk) {
	d.kafkaScripts(t)
	d.besides(start(t, harness.Kinds()[0], d.build))
}

// readMigrating: a broker to leave, and a gateway that copies offsets.
func readMigrating(t *testing.T, d *desk) {
	requireTool(t, "kcat")
	d.kafkaScripts(t)
	programs := d.built(t)
	d.command(t, filepath.Base(programs.Gateway), programs.Gateway)
	kafka, err := harness.Kafka()
	if err != nil {
		missing(t, "java", err)
	}
	target := start(t, harness.Kinds()[0], d.build, "IGGY_KAFKA_NATIVE_OFFSET_MIRROR=true", "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0")
	d.besides(target)
	d.replace("127.0.0.1:9092", start(t, kafka, nil).Kafka, "127.0.0.1:8090", target.Iggy.Addr)
}

// readRunningWithIggy: an Iggy server, and the files that the page names.
func readRunningWithIggy(t *testing.T, d *desk) {
	bin := d.built(t)
	target := &harness.Target{}
	if err := target.StartIggy(t.Context(), bin, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, target)
	d.gatewayAddresses(t)
	d.replace("iggy.example.com:8090", target.Iggy.Addr, "0.0.0.0:9093", d.kafka, "kafka.example.com", "127.0.0.1",
		"USERNAME=gateway", "USERNAME="+target.Iggy.Username, "/run/secrets/iggy-password", d.file(t, "password", target.Iggy.Password),
		"/etc/iggy-kafka/topics.toml", d.file(t, "topics.toml", "default_stream = \"kafka\"\n"))
	d.foreground = map[string]func(context.Context) error{"export IGGY_KAFKA_IGGY_ADDR=": d.ready}
}

// readWire: kafkawire on the path, and something to ask.
func readWire(t *testing.T, d *desk) {
	d.command(t, "kafkawire", buildKafkawire(t))
	d.besides(start(t, harness.Kinds()[0], d.build))
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
