// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// desk is where a page's reader sits: a folder, a terminal in it, commands on the path, and addresses that are not those
// of the page, since tests run side by side.
type desk struct {
	build    func() (harness.Binaries, error)
	dir, bin string // the folder, and the first one of the path
	env      []string
	pairs    []string // texts of the page and what stands there instead
	kafka    string   // for 127.0.0.1:9093
	admin    string   // for 127.0.0.1:9094

	// foreground names blocks, by how they begin, that go on running in a terminal of their own, and when the reader may go on.
	foreground map[string]func(context.Context) error
	cd         string // where these are run, if not in dir
	opened     func() // closes the last of them
}

func newDesk(t *testing.T, build func() (harness.Binaries, error)) *desk {
	return &desk{build: build, dir: t.TempDir(), bin: t.TempDir()}
}

func (d *desk) set(variables ...string) { d.env = append(d.env, variables...) }

func (d *desk) replace(pairs ...string) { d.pairs = append(d.pairs, pairs...) }

// gatewayAddresses has gateways that the reader starts listen where nobody else does.
func (d *desk) gatewayAddresses(t *testing.T) {
	t.Helper()
	d.kafka, d.admin = freeAddr(t), freeAddr(t)
	iggy := freeAddr(t)
	d.set("IGGY_KAFKA_BIND_ADDR="+d.kafka, "IGGY_KAFKA_ADMIN_ADDR="+d.admin, "IGGY_KAFKA_EMBEDDED_ADDR="+iggy)
	d.replace("127.0.0.1:8090", iggy)
}

// besides is a gateway that runs already.
func (d *desk) besides(target *harness.Target) { d.kafka, d.admin = target.Kafka, target.Admin }

// built puts the programs into bin/ of the reader's folder, as in a checkout after make build.
func (d *desk) built(t *testing.T) harness.Binaries {
	t.Helper()
	programs, err := d.build()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(programs.Gateway), filepath.Join(d.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	return programs
}

// file is one that a page names where only an installation has it.
func (d *desk) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command puts a program on the path, with arguments that come first.
func (d *desk) command(t *testing.T, name, program string, args ...string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\nexec %q", program)
	for _, a := range args {
		script += fmt.Sprintf(" %q", a)
	}
	if err := os.WriteFile(filepath.Join(d.bin, name), []byte(script+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// kafkaScripts puts Kafka's scripts on the path, as its releases have them in their own bin/.
func (d *desk) kafkaScripts(t *testing.T) {
	t.Helper()
	tools, mirror := jvmProgram(t, "java-client"), jvmProgram(t, "mirrormaker")
	for name, class := range map[string]string{
		"kafka-acls.sh":             "org.apache.kafka.tools.AclCommand",
		"kafka-configs.sh":          "kafka.admin.ConfigCommand",
		"kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
		"kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
		"kafka-consumer-groups.sh":  "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"kafka-get-offsets.sh":      "org.apache.kafka.tools.GetOffsetShell",
		"kafka-topics.sh":           "org.apache.kafka.tools.TopicCommand",
	} {
		d.command(t, name, absolute(t, filepath.Join(clientsFolder, "jvm", "run")), absolute(t, tools.path("")), class)
	}
	d.command(t, "connect-mirror-maker.sh", absolute(t, mirror.path("run")))
}

// ready says whether the gateway at the reader's addresses is.
func (d *desk) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.admin+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// follow does what the page says.
func (d *desk) follow(t *testing.T, page string, examples []example) {
	t.Helper()
	here := strings.NewReplacer(append(d.pairs,
		"127.0.0.1:9093", d.kafka, "localhost:9093", d.kafka, "127.0.0.1:9094", d.admin, "localhost:9094", d.admin)...)
	main := d.terminal(t, d.dir)
	for _, e := range examples {
		at := fmt.Sprintf("%s:%d", page, e.line)
		if e.file != "" {
			if err := os.WriteFile(filepath.Join(main.folder(t), e.file), []byte(here.Replace(e.contents)), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		began := time.Now()
		if ready := d.runsOn(e); ready != nil {
			d.open(t, here.Replace(e.commands), ready)
		} else if printed := main.run(t, at, here.Replace(e.commands)); e.says && printed != here.Replace(e.prints) || !saysAll(printed, here.Replace(e.among)) {
			t.Errorf("%s:\n%s\nprints\n%s\nthe page says\n%s", at, e.commands, printed, e.prints+e.among)
		}
		t.Logf("%s took %v", at, time.Since(began).Round(10*time.Millisecond))
	}
}

// saysAll tells whether each of the lines, in which an ellipsis stands for anything, is a part of a line of the text.
func saysAll(text, lines string) bool {
	for line := range strings.Lines(lines) {
		if pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*"); !regexp.MustCompile(pattern).MatchString(text) {
			return false
		}
	}
	return true
}

func (d *desk) runsOn(e example) func(context.Context) error {
	for first, ready := range d.foreground {
		if strings.HasPrefix(e.commands, first) {
			return ready
		}
	}
	return nil
}

// open runs commands in a terminal of their own, and waits until they serve. It is closed with the test, and before the
// next one is opened: two gateways would want the same ports.
func (d *desk) open(t *testing.T, commands string, ready func(context.Context) error) {
	t.Helper()
	if d.opened != nil {
		d.opened()
	}
	cmd := d.bash(d.dir, commands)
	if d.cd != "" {
		cmd.Dir = d.cd
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	d.opened = sync.OnceFunc(func() { end(t, cmd, exited, &log) })
	t.Cleanup(d.opened)
	ctx := within(t, 4*limit) // it may have to be built
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-retry.C:
		case <-exited:
			t.Fatalf("%s\nends", commands)
		case <-ctx.Done():
			t.Fatalf("%s\ndoes not serve: %v", commands, err)
		}
	}
}

// end closes a terminal: what runs in it gets SIGTERM, as gateways end well by.
func end(t *testing.T, cmd *exec.Cmd, exited <-chan struct{}, log *bytes.Buffer) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended
	select {
	case <-exited:
	case <-time.After(2 * limit):
		t.Errorf("%s does not end", cmd.Args)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	}
	if t.Failed() {
		t.Logf("--- %s\n%s", cmd.Args[len(cmd.Args)-1], log)
	}
}

// bash is a shell in a process group of its own, which stops at the first failure.
func (d *desk) bash(dir, commands string) *exec.Cmd {
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "IGGY_") && !strings.HasPrefix(v, "KAFKA_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "PATH="+d.bin+":"+os.Getenv("PATH"), "PWD="+dir), d.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = limit // what it has left running holds the pipes open
	return cmd
}

// terminal is a shell that is given one block of commands after the other: what they set and where they go stays.
type terminal struct {
	scripts string // a folder for the blocks
	n       int
	mark    string // ends what a block prints
	stdin   io.Writer
	stdout  io.Reader
	stderr  bytes.Buffer
	exited  chan struct{} // closed when the shell has ended; stderr may be read then
}

func (d *desk) terminal(t *testing.T, dir string) *terminal {
	t.Helper()
	s := &terminal{scripts: t.TempDir(), mark: rand.Text(), exited: make(chan struct{})}
	// A block is a file, so that none of its commands reads the next block from the standard input.
	cmd := d.bash(dir, `while read -r block; do . "$block" </dev/null; printf '%s %s\n' '`+s.mark+`' "$PWD"; done`)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, writer := io.Pipe()
	s.stdin, s.stdout = stdin, stdout
	cmd.Stdout, cmd.Stderr = writer, &s.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		writer.Close()
		close(s.exited)
	}()
	t.Cleanup(func() {
		stdin.Close()
		go io.Copy(io.Discard, stdout) // what is printed at the end must not keep the shell
		end(t, cmd, s.exited, &s.stderr)
	})
	return s
}

// run runs a block and returns what it prints, without colours.
func (s *terminal) run(t *testing.T, at, commands string) string {
	t.Helper()
	printed, _ := s.block(t, at, commands)
	return regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(printed, "")
}

// folder is where the shell is.
func (s *terminal) folder(t *testing.T) string {
	t.Helper()
	_, folder := s.block(t, "", ":")
	return folder
}

func (s *terminal) block(t *testing.T, at, commands string) (printed, folder string) {
	t.Helper()
	s.n++
	script := filepath.Join(s.scripts, fmt.Sprint(s.n))
	if err := os.WriteFile(script, []byte(commands+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(s.stdin, script); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := s.read()
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			<-s.exited
			t.Fatalf("%s:\n%s\nfails and prints\n%s%s", at, commands, a.text, s.stderr.String())
		}
		text, folder, _ := strings.Cut(a.text, s.mark+" ")
		return text, strings.TrimSuffix(folder, "\n")
	case <-time.After(6 * limit):
		t.Fatalf("%s:\n%s\ndoes not end", at, commands)
		panic("unreachable")
	}
}

// read reads to the end of the line that begins with the mark.
func (s *terminal) read() (string, error) {
	var text []byte
	buffer := make([]byte, 4096)
	for {
		n, err := s.stdout.Read(buffer)
		text = append(text, buffer[:n]...)
		if at := bytes.Index(text, []byte(s.mark)); at >= 0 && bytes.HasSuffix(text, []byte("\n")) {
			return string(text), nil
		}
		if err != nil {
			return string(text), err
		}
	}
}
