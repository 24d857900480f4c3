// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// javaClient is Kafka's own performance tools. Each run is a JVM of its own, whose start is not counted: the tools take
// their times themselves.
type javaClient struct {
	kafkaAdmin
	jars  harness.Jars
	addr  string
	batch int // bytes
}

func newJavaClient(jars harness.Jars, addr string, batch int) (*javaClient, error) {
	admin, err := newKafkaAdmin(addr)
	return &javaClient{admin, jars, addr, batch}, err
}

func (j *javaClient) produce(ctx context.Context, topic string, w workload) (outcome, error) {
	out, err := output(j.jars.Tool(ctx, "ProducerPerformance", "--topic", topic, "--num-records", strconv.Itoa(w.records),
		"--record-size", strconv.Itoa(w.size), "--throughput", "-1", "--producer-props", "bootstrap.servers="+j.addr,
		"acks="+w.acks, "batch.size="+strconv.Itoa(j.batch)))
	if err != nil {
		return outcome{}, err
	}
	return parseProducerPerformance(out)
}

// consume joins a consumer group, as the tool knows no other way.
func (j *javaClient) consume(ctx context.Context, topic string, w workload) (outcome, error) {
	out, err := output(j.jars.Tool(ctx, "ConsumerPerformance", "--bootstrap-server", j.addr, "--topic", topic, "--group", topic,
		"--messages", strconv.Itoa(w.records), "--timeout", "60000"))
	if err != nil {
		return outcome{}, err
	}
	return parseConsumerPerformance(out, w.records)
}

func (j *javaClient) single(context.Context, string, workload) ([]time.Duration, error) {
	return nil, errCannot
}

// output runs a tool; the error has what it wrote.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("bench: %s: %w\n%s%s", cmd.Args[len(cmd.Args)-1], err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// parseProducerPerformance reads the last line of the tool, which is about the whole run:
//
//	2000000 records sent, 278474.0 records/sec (26.56 MB/sec), 884.26 ms avg latency, 1169.00 ms max latency, 901 ms 50th, 1127 ms 95th, 1161 ms 99th, 1167 ms 99.9th.
func parseProducerPerformance(out string) (outcome, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	var (
		records                int64
		rate, mb, average, max float64
		p50, p95, p99          int64
	)
	if _, err := fmt.Sscanf(last, "%d records sent, %f records/sec (%f MB/sec), %f ms avg latency, %f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th,",
		&records, &rate, &mb, &average, &max, &p50, &p95, &p99); err != nil || rate <= 0 {
		return outcome{}, fmt.Errorf("bench: ProducerPerformance ended with %q: %v", last, err)
	}
	return outcome{seconds(float64(records) / rate), time.Duration(p50) * time.Millisecond, time.Duration(p99) * time.Millisecond}, nil
}

// parseConsumerPerformance reads the tool's table of one line, whose columns are named before it. The rate is that of
// fetching: joining the group is not the matter here.
//
//	start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
//	2025-11-29 20:00:00:000, 2025-11-29 20:00:01:000, 95.3674, 95.3674, 1000000, 1000000.0, 300, 700, 136.2, 1428571.4
func parseConsumerPerformance(out string, records int) (outcome, error) {
	columns, values, _ := strings.Cut(strings.TrimSpace(out), "\n")
	names, fields := strings.Split(columns, ", "), strings.Split(values, ", ")
	value := func(name string) (float64, error) {
		for i, n := range names {
			if n == name && i < len(fields) {
				return strconv.ParseFloat(fields[i], 64)
			}
		}
		return 0, fmt.Errorf("no %s", name)
	}
	read, err := value("data.consumed.in.nMsg")
	if err == nil && int(read) < records {
		err = fmt.Errorf("%.0f of %d records were read", read, records)
	}
	if err != nil {
		return outcome{}, fmt.Errorf("bench: ConsumerPerformance: %w: %q", err, out)
	}
	rate, err := value("fetch.nMsg.sec")
	if err != nil || rate <= 0 {
		return outcome{}, fmt.Errorf("bench: ConsumerPerformance: %v: %q", err, out)
	}
	return outcome{took: seconds(read / rate)}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
