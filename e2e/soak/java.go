// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// clientsFolder holds the run commands of clients that are programs of their own.
const clientsFolder = "../clients"

// PrepareJava fetches Kafka's tools. The error says what is missing.
func PrepareJava(ctx context.Context) error {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(ctx, filepath.Join(clientsFolder, "java", "tool")).CombinedOutput(); err != nil {
		return fmt.Errorf("soak: fetching Kafka's tools: %w\n%s", err, out)
	}
	return nil
}

// javaProducer is Kafka's own VerifiableProducer. It prints a line for each record that it is told of.
type javaProducer struct {
	scene  *scene
	id     int
	plan   ProducerPlan
	cmd    *exec.Cmd
	log    *os.File
	runs   chan struct{} // closed once it says that it does
	exited chan struct{} // closed once all its lines are read

	// The reader's until exited.
	words words
	sent  int
}

// startJavaProducer returns once the program runs, which takes seconds on a busy machine.
func startJavaProducer(ctx context.Context, s *scene, id int, plan ProducerPlan) (*javaProducer, error) {
	name := filepath.Join(s.dir, fmt.Sprintf("producer-%d", id))
	properties := strings.Join([]string{
		fmt.Sprintf("enable.idempotence=%v", plan.Idempotent),
		fmt.Sprintf("max.in.flight.requests.per.connection=%d", plan.InFlight),
		fmt.Sprintf("request.timeout.ms=%d", requestTimeout.Milliseconds()),
		fmt.Sprintf("linger.ms=%d", plan.Linger.Milliseconds()),
		"compression.type=" + plan.Codec,
		fmt.Sprintf("retries=%d", math.MaxInt32),
		"delivery.timeout.ms=600000", "max.block.ms=600000",
		"retry.backoff.ms=100", "reconnect.backoff.max.ms=500", "metadata.max.age.ms=5000",
	}, "\n")
	if err := os.WriteFile(name+".properties", []byte(properties), 0o644); err != nil {
		return nil, err
	}
	file, err := os.Create(name + ".log")
	if err != nil {
		return nil, err
	}
	rate := float64(plan.Burst) / plan.Interval.Seconds()
	p := &javaProducer{scene: s, id: id, plan: plan, log: file, runs: make(chan struct{}), exited: make(chan struct{}), sent: -1}
	p.cmd = exec.Command(filepath.Join(clientsFolder, "java", "tool"), "VerifiableProducer", "--bootstrap-server", s.addr,
		"--topic", s.topic, "--throughput", fmt.Sprint(int(rate)), "--value-prefix", fmt.Sprint(id), "--producer.config", name+".properties")
	p.cmd.Stderr = file
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("soak: producer %d: %w", id, err)
	}
	go func() {
		defer close(p.exited)
		p.read(out)
		_ = p.cmd.Wait() // Java's code says that it was a signal
	}()
	select {
	case <-p.runs:
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("soak: producer %d ended at once: see %s", id, file.Name())
	case <-ctx.Done():
		return p, errors.Join(fmt.Errorf("soak: producer %d does not start: %w", id, context.Cause(ctx)), p.finish(ctx))
	}
}

// read takes the program's lines.
func (p *javaProducer) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Fprintln(p.log, lines.Text())
		var line struct {
			Name, Value, Message, Exception string
			Partition                       int
			Offset                          int64
			Sent                            int
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			p.words.errors.add("its line %q: %v", lines.Text(), err)
			continue
		}
		number := parse([]byte(line.Value)).ID.Number
		switch line.Name {
		case "startup_complete":
			close(p.runs)
		case "producer_send_success":
			p.words.ack(Ack{Number: number, Partition: line.Partition, Offset: line.Offset, At: p.scene.now()})
		case "producer_send_error":
			if !strings.Contains(line.Message, "closed") { // the program goes on to send while it closes its producer
				p.words.fail(number, -1, p.scene.now(), line.Exception+": "+line.Message)
			}
		case "tool_data":
			p.sent = line.Sent
		}
	}
	if err := lines.Err(); err != nil {
		p.words.errors.add("reading its lines: %v", err)
		_, _ = io.Copy(io.Discard, out)
	}
}

// finish has the program flush and end.
func (p *javaProducer) finish(ctx context.Context) error {
	defer p.log.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("producer %d: not all records are answered: %w", p.id, ctx.Err())
	}
}

func (p *javaProducer) history() ProducerHistory {
	sent := p.sent
	if sent < 0 { // it did not say
		p.words.errors.add("it ended without a summary")
		sent = math.MaxInt
	}
	return p.words.history(p.plan, sent)
}
