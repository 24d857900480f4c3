// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the way through Kafka's protocol costs: a stock Kafka client through the gateway, beside
// Iggy's own SDK on the same server, with the same messages. Machines drift, so the two alternate in pairs, and what
// counts is the ratio within a pair.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// plan says what is measured.
type plan struct {
	targets        []string
	pairs, records int
	size, perCall  int // bytes of a payload; messages that the SDK sends or polls in one call
}

// payload is what every message carries.
func (p plan) payload() []byte { return bytes.Repeat([]byte("x"), p.size) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var p plan
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	targets := flags.String("targets", "embedded-memory,embedded-durable", "what to measure: kinds of the harness, by name")
	flags.IntVar(&p.pairs, "pairs", 10, "pairs of runs")
	flags.IntVar(&p.records, "records", 500_000, "records of a run")
	flags.IntVar(&p.size, "size", 100, "bytes of a record's value")
	flags.IntVar(&p.perCall, "per-call", 1_000, "messages in one call of the SDK")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p.targets = strings.Split(*targets, ",")

	dir, err := os.MkdirTemp("", "iggy-kafka-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin, err := harness.Build(ctx)
	if err != nil {
		return err
	}
	for _, name := range p.targets {
		if err := p.measureTarget(ctx, name, bin, filepath.Join(dir, name), out); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measureTarget starts a target, runs the pairs against it and prints the outcome.
func (p plan) measureTarget(ctx context.Context, name string, bin harness.Binaries, dir string, out io.Writer) (err error) {
	kinds := harness.Kinds()
	i := slices.IndexFunc(kinds, func(k harness.Kind) bool { return k.Name == name && !k.Reference })
	if i < 0 {
		return fmt.Errorf("bench: no such target")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	target, err := kinds[i].Start(ctx, bin, dir)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := target.Close(context.Background()); err == nil {
			err = closeErr
		}
	}()

	var produce, consume series
	for pair := range p.pairs + 1 {
		write, read, err := p.measurePair(ctx, target, pair)
		if err != nil {
			return err
		}
		if pair > 0 { // the first one warms up
			produce, consume = append(produce, write), append(consume, read)
		}
	}
	fmt.Fprintf(out, "%s: %d pairs, %d records of %d bytes a run, SDK %d a call; records/s, median (least - most)\n", name, p.pairs, p.records, p.size, p.perCall)
	fmt.Fprintf(out, "  produce  %s\n", produce.summary(p.records))
	fmt.Fprintf(out, "  consume  %s\n", consume.summary(p.records))
	return nil
}

// step is one half of a pair's measurement.
type step struct {
	took *time.Duration
	run  func() error
}

// measurePair writes and reads the same messages both ways, each on a topic of its own; who comes first alternates.
func (p plan) measurePair(ctx context.Context, target *harness.Target, pair int) (write, read sample, err error) {
	kafkaTopic, nativeTopic := fmt.Sprintf("kafka-%d", pair), fmt.Sprintf("native-%d", pair)
	kafka, err := newKafkaSide(ctx, target, kafkaTopic)
	if err != nil {
		return write, read, err
	}
	defer kafka.close()
	native, err := newNativeSide(target, nativeTopic)
	if err != nil {
		return write, read, err
	}
	defer native.close()

	steps := []step{
		{&write.kafka, func() error { return kafka.produce(ctx, p) }},
		{&write.native, func() error { return native.send(p) }},
		{&read.kafka, func() error { return kafka.consume(ctx, p) }},
		{&read.native, func() error { return native.poll(p) }},
	}
	if pair%2 == 1 {
		steps[0], steps[1], steps[2], steps[3] = steps[1], steps[0], steps[3], steps[2]
	}
	for _, s := range steps {
		runtime.GC() // nobody is charged for what the others left behind
		begin := time.Now()
		if err := s.run(); err != nil {
			return write, read, err
		}
		*s.took = time.Since(begin)
	}
	return write, read, kafka.deleteTopics(ctx, kafkaTopic, nativeTopic)
}
