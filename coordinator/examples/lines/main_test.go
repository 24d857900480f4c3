// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// TestWorkers lets two workers share the queues, and one take over from the other.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go driver.Run(ctx)
		<-driver.Loaded()
		connect := func() (ask func(line, want string), leave func() error) {
			near, far := net.Pipe()
			go serve(ctx, driver, far)
			answers := bufio.NewReader(near)
			return func(line, want string) {
				t.Helper()
				fmt.Fprintln(near, line)
				if got, err := answers.ReadString('\n'); err != nil || got != want+"\n" {
					t.Errorf("%s: %q %v, want %q", line, got, err, want)
				}
			}, near.Close
		}
		first, leave := connect()
		second, leaveToo := connect()
		first("work g", "queues 0 1 2 3")
		first("done 3 42", "noted")
		both := make(chan struct{})
		go func() { defer close(both); second("work g", "queues 1 3") }()
		synctest.Wait()
		first("alive", "error: "+coordinator.ErrRebalanceInProgress.Error())
		first("work g", "queues 0 2")
		<-both
		second("where 3", "42")
		second("done 3 x", "error: expected integer")
		second("rest", `error: no such request: "rest"`)
		leave()
		time.Sleep(time.Second)
		second("work g", "queues 0 1 2 3")
		leaveToo()
		synctest.Wait()
	})
}

// TestReadme holds the module's README against this program.
func TestReadme(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "package main\n")
	if !strings.Contains(string(readme), "```go\npackage main\n"+code+"```\n") {
		t.Error("the example in README.md is not main.go")
	}
}
