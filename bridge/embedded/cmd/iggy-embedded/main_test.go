// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun starts the server, reads its first line, connects and stops it.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	result := make(chan error, 1)
	go func() {
		result <- run(ctx, []string{"--addr", "127.0.0.1:0", "--data-dir", t.TempDir()}, noEnv, in, io.Discard)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "iggy-embedded listening on ")
	if !found {
		t.Fatalf("first line %q", line)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	stop()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func noEnv(string) string { return "" }

func TestParse(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"IGGY_USERNAME": "root", "IGGY_PASSWORD": "secret"}[name]
	}
	cfg, err := parse([]string{"--memory", "--password", "other"}, env, io.Discard)
	if err != nil || cfg.Username != "root" || cfg.Password != "other" || !cfg.InMemory {
		t.Errorf("flags before variables: %+v, %v", cfg, err)
	}
	cfg, err = parse([]string{"--memory"}, env, io.Discard)
	if err != nil || cfg.Password != "secret" {
		t.Errorf("password of the environment: %+v, %v", cfg, err)
	}
	for _, args := range [][]string{{"--unknown"}, {"--memory", "stray"}} {
		if _, err := parse(args, noEnv, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if err := run(t.Context(), nil, noEnv, io.Discard, io.Discard); err == nil {
		t.Error("runs without a place for data")
	}
}
