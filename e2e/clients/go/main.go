// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// The command go runs a member of a consumer group with one of the clients for Go: go CLIENT CONFIG. See package group
// for what it is told and what it prints. The script member builds and runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

type library struct {
	module string
	run    func(context.Context, group.Config, func(group.Event)) error
}

func libraries() map[string]library {
	return map[string]library{
		"franz-go": {"github.com/twmb/franz-go", group.RunFranz},
		"sarama":   {"github.com/IBM/sarama", group.RunSarama},
		"kafka-go": {"github.com/segmentio/kafka-go", group.RunKafkaGo},
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a client and a configuration, not %q", args)
	}
	client, ok := libraries()[args[0]]
	if !ok {
		return fmt.Errorf("there is no client %q", args[0])
	}
	var config group.Config
	if err := json.Unmarshal([]byte(args[1]), &config); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	var mu sync.Mutex // libraries call from many goroutines
	lines := json.NewEncoder(os.Stdout)
	emit := func(e group.Event) {
		mu.Lock()
		defer mu.Unlock()
		if err := lines.Encode(e); err != nil { // nobody reads any more
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	emit(group.Event{Kind: group.Started, Version: version(client.module)})
	if err := client.run(ctx, config, emit); err != nil {
		return err
	}
	emit(group.Event{Kind: group.Closed})
	return nil
}

// version is that of a module that this program is made of.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}
