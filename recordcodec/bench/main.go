// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures recordcodec beside the record codecs of franz-go and kafka-go, on the same batches. Machines
// drift, so the two alternate in pairs, and what counts is the ratio within a pair. It is a module of its own so that
// recordcodec does not depend on what it is compared with.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"text/tabwriter"
	"time"
)

const (
	records   = 1000
	valueSize = 100 // bytes
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	pairs := flags.Int("pairs", 15, "pairs of samples for each line")
	only := flags.String("only", "", "regular expression of the lines to measure, as operation/codec/peer")
	length := flags.Duration("sample", 30*time.Millisecond, "length of a sample")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // what allocation costs later shows in the same samples
	lines, err := comparisons(makeValues())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Batches of %d records of %d bytes without keys; %d pairs of %v, medians; processor time; B and allocs are those of one batch.\n", records, valueSize, *pairs, *length)
	fmt.Fprintf(out, "Ratio: how many times as fast as the peer, with the least and the most of all pairs.\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "operation\tcodec\tns/record\tB\tallocs\tpeer\tns/record\tB\tallocs\tratio")
	for _, l := range lines {
		if !chosen.MatchString(l.name()) {
			continue
		}
		s, err := l.measure(*pairs, *length)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name(), err)
		}
		fmt.Fprintf(table, "%s\t%v\t%v\t%s\t%v\t%s\n", l.operation, l.codec, s.ours(), l.peerName, s.peers(), s.ratio())
	}
	return table.Flush()
}
