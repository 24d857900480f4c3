// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the way through Kafka's protocol costs: stock Kafka clients through the gateway, beside
// Iggy's own SDK on the same server and beside the same clients on a Kafka broker. Machines drift, so all of them take
// turns within one run, and what counts is the ratio within a round. docs/performance.md says how to read it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures what the arguments ask for and prints it as Markdown.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 && args[0] == holdCommand {
		return hold(ctx, args[1], in, out)
	}
	p, err := parsePlan(args, flag.ExitOnError)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "iggy-kafka-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	switch p.measure {
	case measureIdle:
		return p.idle(ctx, dir, out)
	case measureHeartbeats:
		return p.heartbeats(ctx, dir, out)
	default:
		return p.contest(ctx, dir, out)
	}
}
