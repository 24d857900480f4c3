// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestSecurityPage runs every command of docs/security.md, in their order and in one folder, and compares what they print
// where the page says it. Only the ports are others.
func TestSecurityPage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	if os.Getenv("E2E_RACE") == "true" {
		t.Skip("the page's commands say nothing of races")
	}
	for _, tool := range []string{"openssl", "curl", "kcat"} {
		requireTool(t, tool)
	}
	client := jvmProgram(t, "java-client")
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := builder(t)()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Dir(bin.Gateway), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	// Kafka's script, as its releases have it in their own bin/.
	script := fmt.Sprintf("#!/bin/sh\nexec %q %q org.apache.kafka.tools.AclCommand \"$@\"\n",
		absolute(t, filepath.Join(clientsFolder, "jvm", "run")), absolute(t, client.path("")))
	if err := os.WriteFile(filepath.Join(dir, "kafka-acls.sh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	addr, admin := freeAddr(t), freeAddr(t)
	ports := strings.NewReplacer("127.0.0.1:9093", addr, "127.0.0.1:9094", admin)
	t.Cleanup(func() { stopFromFile(t, filepath.Join(dir, "gateway.pid")) })

	ran := 0
	for _, example := range shellExamples(string(page)) {
		cmd := exec.CommandContext(within(t, 2*limit), "bash", "-euo", "pipefail", "-c", ports.Replace(example.commands))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "IGGY_KAFKA_BIND_ADDR="+addr, "IGGY_KAFKA_ADMIN_ADDR="+admin)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "gateway.log")) // may not be there yet
			t.Fatalf("%s\n%v\n%s%s\n%s", example.commands, err, out, stderr.String(), log)
		}
		if example.prints != "" && string(out) != example.prints {
			t.Errorf("%s\nprints\n%s\nthe page says\n%s", example.commands, out, example.prints)
		}
		ran++
	}
	if ran < 5 {
		t.Errorf("the page has %d examples", ran)
	}
}

// shellExample is a block of commands, and the block of text right behind it, if there is one.
type shellExample struct{ commands, prints string }

func shellExamples(page string) []shellExample {
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")
	var examples []shellExample
	for _, found := range blocks.FindAllStringSubmatch(page, -1) {
		examples = append(examples, shellExample{found[1], found[2]})
	}
	return examples
}

// stopFromFile ends the process whose id a file holds, if it is there still.
func stopFromFile(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Error(err)
		return
	}
	_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended, as the page asks
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
