// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command kafkawire speaks the Kafka protocol frame by frame: it makes valid requests, sends them, and tries a server
// with every API and version that it advertises. Run it with -h.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `usage:
  kafkawire generate [flags]         print valid requests of every API and version
  kafkawire send [flags] HOST:PORT   send one request and print its answer as JSON
  kafkawire verify [flags] HOST:PORT try a server; nothing that it holds is changed
"kafkawire COMMAND -h" lists the flags. Exit status: 0 done, 1 failed, 2 wrong usage.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, streams{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// errUsage: the command line is wrong; what is wrong has been said already.
var errUsage = errors.New("wrong usage")

// run returns the exit status.
func run(ctx context.Context, std streams, args []string) int {
	commands := map[string]func(context.Context, streams, []string) error{
		"generate": generate, "send": send, "verify": verify,
	}
	if len(args) == 0 {
		args = []string{""}
	}
	command, ok := commands[args[0]]
	if !ok {
		fmt.Fprint(std.err, usage)
		return 2
	}
	switch err := command(ctx, std, args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	default:
		fmt.Fprintln(std.err, "kafkawire:", err)
		return 1
	}
}

// flags is the set of one command's flags; what follows them is named by operands, for the help.
func flags(std streams, command, operands string) *flag.FlagSet {
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	set.SetOutput(std.err)
	set.Usage = func() {
		fmt.Fprintf(std.err, "usage: kafkawire %s [flags] %s\n", command, operands)
		set.PrintDefaults()
	}
	return set
}

// parse parses a command line with a fixed number of operands.
func parse(set *flag.FlagSet, args []string, operands int) error {
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if set.NArg() != operands {
		set.Usage()
		return errUsage
	}
	return nil
}

// wrong says what is wrong with a command line.
func wrong(set *flag.FlagSet, format string, args ...any) error {
	fmt.Fprintf(set.Output(), format+"\n", args...)
	set.Usage()
	return errUsage
}
