// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What can be measured.
const (
	measureThroughput = "throughput" // produce and consume as fast as the client can
	measureLatency    = "latency"    // one record at a time, the next one when it is acknowledged
	measureIdle       = "idle"       // memory for connections that do nothing
	measureCommits    = "commits"    // offsets, by many groups at once
	measureHeartbeats = "heartbeats" // processor time and memory for groups that do nothing
)

// The clients, by the names that -clients takes.
const (
	clientFranz = "franz"
	clientPlain = "plain" // franz-go without idempotence, otherwise the same
	clientJava  = "java"
	clientSDK   = "sdk"
	clientRaw   = "raw" // for single writes and commits only
)

// plan says what is measured.
type plan struct {
	measure       string
	targets       []string
	clients       []string
	sizes         []int // bytes of a record's value
	partitions    []int
	acks          []string
	batches       []int // bytes, for Java: the other clients fill batches as their defaults say
	pairs, warmUp int   // rounds that count, and those before that do not
	records       int   // in one run; of commits: how many
	perCall       int   // messages that the SDK sends or polls in one call
	consume       bool
	settings      []string // variables of the gateway, NAME=value
	beside        []string // those of a second gateway of each kind, for comparison
	connections   []int
	settle        time.Duration
	groups        int
	members       int           // of each group
	interval      time.Duration // of heartbeats
	window        time.Duration
}

// presets are the arguments behind the tables of docs/performance.md.
func presets() map[string][]string {
	return map[string][]string{
		"sdk": {"-targets=embedded-memory,separate", "-clients=franz,sdk", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=10", "-records=1000000"},
		"kafka": {"-targets=embedded-memory,embedded-durable,kafka", "-clients=java", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=10", "-warm-up=2", "-records=2000000", "-consume=false"},
		"kafka-consume": {"-targets=embedded-memory,embedded-durable,kafka", "-clients=franz,java", "-batches=65536", "-sizes=100",
			"-partitions=1", "-acks=all", "-pairs=10", "-warm-up=2", "-records=1000000"},
		"dedup": {"-targets=embedded-memory,separate", "-clients=franz,plain", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=12", "-warm-up=2", "-records=2000000", "-consume=false"},
		"cpu": {"-targets=separate", "-clients=java", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=5", "-warm-up=1", "-records=2000000", "-consume=false"},
		"latency": {"-measure=latency", "-targets=embedded-memory,separate", "-clients=franz,raw,sdk", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=10", "-records=2000"},
		"metrics": {"-targets=embedded-memory,separate", "-clients=franz", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=10", "-warm-up=2", "-records=3000000", "-consume=false", "-beside=IGGY_KAFKA_ADMIN_ADDR="},
		"metrics-latency": {"-measure=latency", "-targets=embedded-memory,separate", "-clients=raw", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=10", "-warm-up=2", "-records=5000", "-beside=IGGY_KAFKA_ADMIN_ADDR="},
		"idle": {"-measure=idle"},
		"commits": {"-measure=commits", "-targets=embedded-memory,embedded-durable,kafka", "-clients=raw", "-sizes=100", "-partitions=1", "-acks=all",
			"-pairs=10", "-warm-up=3", "-records=20000"},
		"heartbeats": {"-measure=heartbeats", "-targets=embedded-memory", "-groups=1000", "-connections=300,3000"},
	}
}

// parsePlan reads the arguments; those given override those of the preset.
func parsePlan(args []string, onError flag.ErrorHandling) (plan, error) {
	var p plan
	var preset string
	flags := flag.NewFlagSet("bench", onError)
	flags.StringVar(&preset, "preset", "", "the arguments of a table in docs/performance.md: sdk, kafka, kafka-consume, dedup, cpu, latency, metrics, metrics-latency, idle, commits or heartbeats; others override them")
	flags.StringVar(&p.measure, "measure", measureThroughput, "throughput, latency (of single writes), idle (memory for connections), commits (of offsets) or heartbeats (what groups cost)")
	flags.Func("targets", "kinds of the harness: embedded-memory, embedded-durable, separate, iggy (at IGGY_ADDR), kafka; default all that are there", words(&p.targets))
	p.clients = []string{clientFranz, clientJava, clientSDK}
	flags.Func("clients", "franz, java (Kafka's perf tools), sdk (Iggy's own), plain (franz without idempotence), raw (ready-made requests, for latency and commits); default the first three", words(&p.clients))
	p.sizes, p.partitions, p.batches = []int{100, 1024}, []int{1, 8, 100}, []int{16 << 10, 64 << 10}
	flags.Func("sizes", "bytes of a record; default 100,1024", numbers(&p.sizes))
	flags.Func("partitions", "partitions of the topic; default 1,8,100", numbers(&p.partitions))
	flags.Func("batches", "the Java producer's batch.size; default 16384,65536", numbers(&p.batches))
	p.acks = []string{"1", "all"}
	flags.Func("acks", "acknowledgements; default 1,all", words(&p.acks))
	flags.IntVar(&p.pairs, "pairs", 1, "rounds in which everybody has a turn; 10 or more for figures to quote")
	flags.IntVar(&p.warmUp, "warm-up", 1, "rounds before them, after each start of the servers")
	flags.IntVar(&p.records, "records", 100_000, "records of a run, or commits")
	flags.IntVar(&p.perCall, "per-call", 1_000, "messages in one call of the SDK")
	flags.BoolVar(&p.consume, "consume", true, "read the records back")
	flags.Func("settings", "variables of the gateway: IGGY_KAFKA_FETCH_COMPRESSION=lz4,GOGC=200", words(&p.settings))
	flags.Func("beside", "variables of one more gateway of each kind, to whose figures the others are compared: IGGY_KAFKA_ADMIN_ADDR=", words(&p.beside))
	p.connections = []int{1_000, 10_000}
	flags.Func("connections", "idle, heartbeats: how many; default 1000,10000", numbers(&p.connections))
	flags.DurationVar(&p.settle, "settle", 130*time.Second, "idle: wait for the garbage collector, which the Go runtime runs every two minutes")
	flags.IntVar(&p.groups, "groups", 100, "commits, heartbeats: groups")
	flags.IntVar(&p.members, "members", 3, "heartbeats: members of a group; -connections are multiples of it")
	flags.DurationVar(&p.interval, "interval", 3*time.Second, "heartbeats: of each member")
	flags.DurationVar(&p.window, "window", 30*time.Second, "heartbeats: how long they go on")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	if flags.NArg() > 0 {
		return p, fmt.Errorf("bench: unexpected argument %q", flags.Arg(0))
	}
	if preset != "" {
		arguments, ok := presets()[preset]
		if !ok {
			return p, fmt.Errorf("bench: no preset %q", preset)
		}
		if err := flags.Parse(slices.Concat(arguments, args)); err != nil {
			return p, err
		}
	}
	return p, p.validate()
}

func (p plan) validate() error {
	for _, choice := range []struct {
		flag           string
		given, allowed []string
	}{
		{"measure", []string{p.measure}, []string{measureThroughput, measureLatency, measureIdle, measureCommits, measureHeartbeats}},
		{"clients", p.clients, []string{clientFranz, clientPlain, clientJava, clientSDK, clientRaw}},
		{"acks", p.acks, []string{"1", "all"}},
	} {
		for _, word := range choice.given {
			if !slices.Contains(choice.allowed, word) {
				return fmt.Errorf("bench: -%s %q is none of %v", choice.flag, word, choice.allowed)
			}
		}
	}
	if p.pairs < 1 || p.records < 1 || p.perCall < 1 || p.groups < 1 || p.members < 1 || p.interval < time.Millisecond || p.warmUp < 0 {
		return fmt.Errorf("bench: -pairs, -records, -per-call, -groups, -members and -interval must be positive, -warm-up not negative")
	}
	if p.measure == measureHeartbeats && slices.ContainsFunc(p.connections, func(n int) bool { return n%p.members != 0 }) {
		return fmt.Errorf("bench: -connections must be multiples of -members")
	}
	return nil
}

// workload is what every client of a contest does.
type workload struct {
	size, partitions int
	acks             string
	records, perCall int
	groups           int
}

// workloads lists all combinations, in the order of the flags.
func (p plan) workloads() []workload {
	var all []workload
	for _, size := range p.sizes {
		for _, partitions := range p.partitions {
			for _, acks := range p.acks {
				all = append(all, workload{size, partitions, acks, p.records, p.perCall, p.groups})
			}
		}
	}
	return all
}

func (w workload) String() string {
	partitions := "1 partition"
	if w.partitions > 1 {
		partitions = fmt.Sprintf("%d partitions", w.partitions)
	}
	return fmt.Sprintf("%d records of %d bytes, %s, acks=%s", w.records, w.size, partitions, w.acks)
}

// words and numbers are flags that hold lists with commas.
func words(list *[]string) func(string) error {
	return func(text string) error {
		*list = strings.Split(text, ",")
		return nil
	}
}

func numbers(list *[]int) func(string) error {
	return func(text string) error {
		*list = nil
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no positive number", word)
			}
			*list = append(*list, n)
		}
		return nil
	}
}
