// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// limit bounds one step.
const limit = 60 * time.Second

// testUser does what the README in the archive tells those who have just unpacked it: start the gateway with an Iggy of its
// own, write and read with kcat, end it.
func (r made) testUser(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		if os.Getenv("REQUIRE_KCAT") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	kafka, admin := freeAddr(t), freeAddr(t)
	gateway := exec.Command("./iggy-kafka-gateway", "--embedded")
	gateway.Dir = r.unpacked
	gateway.Env = append(environment(), "IGGY_KAFKA_BIND_ADDR="+kafka, "IGGY_KAFKA_ADMIN_ADDR="+admin)
	var log bytes.Buffer
	gateway.Stderr = &log
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- gateway.Wait() }()
	stop := func(signal os.Signal) error {
		_ = gateway.Process.Signal(signal) // fails only when it has ended
		return <-ended
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = stop(os.Kill)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	}()

	r.awaitHealth(t, gateway.Env)
	kcat(t, "hello\n", "-b", kafka, "-P", "-t", "greetings", "-q")
	if got := kcat(t, "", "-b", kafka, "-C", "-t", "greetings", "-o", "beginning", "-e", "-q"); got != "hello\n" {
		t.Errorf("kcat read %q", got)
	}
	stopped = true
	if err := stop(syscall.SIGTERM); err != nil {
		t.Errorf("the gateway ended: %v", err)
	}
	if files, err := os.ReadDir(filepath.Join(r.unpacked, "iggy-kafka-data")); err != nil || len(files) == 0 {
		t.Errorf("data in ./iggy-kafka-data: %d files, %v", len(files), err)
	}
}

// awaitHealth asks with the command that the container image asks with.
func (r made) awaitHealth(t *testing.T, environ []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	var last string
	for {
		check := exec.CommandContext(ctx, "./iggy-kafka-gateway", "healthcheck")
		check.Dir, check.Env = r.unpacked, environ
		out, err := check.CombinedOutput()
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			last = string(out)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			t.Fatalf("healthcheck: %v\n%s", err, last)
		}
	}
}

func kcat(t *testing.T, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kcat", args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := harness.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// environment is this process's without settings of the gateway.
func environment() []string {
	var kept []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "IGGY_") {
			kept = append(kept, entry)
		}
	}
	return kept
}
