// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Program makes calls with a client library in a process of its own. It is told the broker by its last argument, and
// first prints About as JSON, in a line. For each line of its input, a call, it prints one, what came of it, in the same
// order; it ends with its input. Bytes are in base64, null where they are null. The calls are those of Application:
//
//	{"call":"create_topic","topic":"t","partitions":2}
//	{"call":"delete_topic","topic":"t"}
//	{"call":"produce","topic":"t","partition":0,"codec":"none","acks":-1,"idempotent":false,"records":[...]}   result: offsets or null
//	{"call":"consume","topic":"t","partition":0,"offset":7,"n":10}                                             result: records
//	{"call":"consume_group","topic":"t","group":"g","n":10}                                                    result: records
//	{"call":"offset_at","topic":"t","partition":0,"time":1700000000000}                                        result: offset
//	{"call":"topics"}                                                                                          result: names
//	{"call":"partitions_of","topic":"t"}                                                                       result: their number
//	{"call":"groups"}                                                                                          result: ids
//	{"call":"group_state","group":"g"}                                                                         result: as in Kafka
//	{"call":"delete_records","topic":"t","partition":0,"before":3}
//	{"call":"delete_group","group":"g"}
//	{"call":"grow_topic","topic":"t","partitions":3}
//	{"call":"settings","topic":"t"}                                                                            result: values by name
//	{"call":"alter_settings","topic":"t","settings":{"retention.ms":"1000"}}
//	{"call":"replace_settings","topic":"t","settings":{"retention.ms":"1000"}}
//
//	{"partition":0,"offset":7,"timestamp":1700000000000,"key":"a2V5","value":null,"headers":[{"name":"h","value":"dg=="}]}   a record
//	{"result":7}  {"error":"what failed"}  {"lacks":"why the library cannot do that"}                                          what came of it
type Program struct {
	Client  string   // the library's name
	Release string   // none is the newest; oldest: that still runs, and does something with a broker of Kafka 4
	Tools   []string // what must be installed; Go is
	Lacks   []string // calls of which this release knows only versions that Kafka 4 has not any more
	// Security is told by the variables SASL_USER, SASL_PASSWORD, TLS_CA, TLS_CERT and TLS_KEY; those that are empty stand for
	// what there is not. Not every program knows all of them.
	Security Security

	command []string // the run command, relative to the folder e2e/clients, and its first arguments
}

// Programs lists them all.
func Programs() []Program {
	const oldest = "oldest"
	python := func(client, release, environment, script string) Program {
		return Program{Client: client, Release: release, Tools: []string{"python3"}, command: []string{"python/calls", environment, script}}
	}
	node := []string{"node", "npm"}
	return []Program{
		python("confluent-kafka", "", "newest", "librdkafka"),
		python("confluent-kafka", oldest, "oldest", "librdkafka"),
		python("kafka-python", "", "newest", "kafka_python"),
		python("kafka-python", "2.0", "oldest", "kafka_python"),
		python("kafka-python", oldest, "oldest-kafka-python", "kafka_python"),
		python("aiokafka", "", "newest", "aiokafka"),
		python("aiokafka", oldest, "oldest", "aiokafka"),
		{Client: "kafkajs", Tools: node, command: []string{"node/calls", "kafkajs"}},
		{
			Client: "kafkajs", Release: oldest, Tools: node, command: []string{"node/calls", "kafkajs-oldest"},
			Lacks: []string{"create_topic", "delete_topic", "settings"},
		},
		{Client: "franz-go", Release: oldest, command: []string{"old/calls", "franz-go"}},
		{Client: "sarama", Release: oldest, command: []string{"old/calls", "sarama"}},
		{Client: "kafka-go", Release: oldest, command: []string{"old/calls", "kafka-go"}, Lacks: []string{"create_topic", "delete_topic"}},
	}
}

func (p Program) String() string {
	if p.Release != "" {
		return p.Client + "-" + p.Release
	}
	return p.Client
}

// Prepare fetches or builds what the program needs; folder is e2e/clients.
func (p Program) Prepare(ctx context.Context, folder string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(folder, p.command[0]), p.command[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("clients: preparing %s: %w\n%s", p, err, out)
	}
	return nil
}

// Process is a program that runs. It is for one goroutine at a time.
type Process struct {
	program Program
	about   About
	stderr  bytes.Buffer // valid after Close
	cmd     *exec.Cmd
	calls   io.WriteCloser
	lines   chan []byte   // what it printed; closed when there is no more
	exited  chan struct{} // closed once it has been waited for
}

// Start starts a program for the broker at addr; the context bounds its life.
func (p Program) Start(ctx context.Context, folder, addr string) (*Process, error) {
	args := append(slices.Clip(p.command[1:]), addr)
	r := &Process{
		program: p, cmd: exec.CommandContext(ctx, filepath.Join(folder, p.command[0]), args...),
		lines: make(chan []byte), exited: make(chan struct{}),
	}
	r.cmd.Stderr, r.cmd.Env = &r.stderr, append(os.Environ(), p.Security.environment()...)
	var err error
	if r.calls, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("clients: starting %s: %w", p, err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("clients: starting %s: %w", p, err)
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("clients: starting %s: %w", p, err)
	}
	go func() {
		defer close(r.exited)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			r.lines <- slices.Clone(lines.Bytes())
		}
		close(r.lines)
		_ = r.cmd.Wait() // a call without an answer tells it
	}()
	if err := r.receive(ctx, &r.about); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// receive decodes the next line.
func (r *Process) receive(ctx context.Context, to any) error {
	select {
	case line, open := <-r.lines:
		if !open {
			return fmt.Errorf("clients: %s ended", r.program)
		}
		if err := json.Unmarshal(line, to); err != nil {
			return fmt.Errorf("clients: %s printed %q: %w", r.program, line, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("clients: waiting for %s: %w", r.program, ctx.Err())
	}
}

// Close ends the program. Its own errors are in Log.
func (r *Process) Close() error {
	const patience = 5 * time.Second
	err := r.calls.Close()
	late := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() }) // fails only when it has ended
	defer late.Stop()
	for range r.lines { // an answer that nobody waited for
	}
	<-r.exited
	return err
}

// Log is what the program wrote besides what came of the calls; valid after Close.
func (r *Process) Log() string {
	const most = 8 << 10
	text := r.stderr.String()
	return text[max(len(text)-most, 0):]
}

// call makes one call; result is where its result goes, or nil.
func (r *Process) call(ctx context.Context, name string, arguments map[string]any, result any) error {
	if slices.Contains(r.program.Lacks, name) {
		return ErrLacking
	}
	arguments["call"] = name
	line, err := json.Marshal(arguments)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	if _, err := r.calls.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("clients: calling %s: %w", r.program, err)
	}
	var came struct {
		Result       json.RawMessage
		Error, Lacks string
	}
	if err := r.receive(ctx, &came); err != nil {
		return err
	}
	switch {
	case came.Lacks != "":
		return fmt.Errorf("%w: %s", ErrLacking, came.Lacks)
	case came.Error != "":
		return fmt.Errorf("clients: %s: %s: %s", r.program, name, came.Error)
	case result != nil:
		return json.Unmarshal(came.Result, result)
	}
	return nil
}

// programRecord and programHeader are a record's form in calls.
type (
	programRecord struct {
		Partition int             `json:"partition"`
		Offset    int64           `json:"offset"`
		Timestamp int64           `json:"timestamp"`
		Key       []byte          `json:"key"`
		Value     []byte          `json:"value"`
		Headers   []programHeader `json:"headers"`
	}
	programHeader struct {
		Name  string `json:"name"`
		Value []byte `json:"value"`
	}
)

func (r programRecord) record() Record {
	record := Record{Offset: r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		record.Headers = append(record.Headers, Header(h))
	}
	return record
}

func (r *Process) Name() string { return r.program.String() }

func (r *Process) About() About { return r.about }

func (r *Process) Features() Features { return r.about.Features() }

func (r *Process) CreateTopic(ctx context.Context, topic string, partitions int) error {
	return r.call(ctx, "create_topic", map[string]any{"topic": topic, "partitions": partitions}, nil)
}

func (r *Process) DeleteTopic(ctx context.Context, topic string) error {
	return r.call(ctx, "delete_topic", map[string]any{"topic": topic}, nil)
}

func (r *Process) Produce(ctx context.Context, to Destination, records []Record) (offsets []int64, err error) {
	batch := make([]programRecord, len(records))
	for i, record := range records {
		batch[i] = programRecord{Timestamp: record.Timestamp, Key: record.Key, Value: record.Value}
		for _, h := range record.Headers {
			batch[i].Headers = append(batch[i].Headers, programHeader(h))
		}
	}
	err = r.call(ctx, "produce", map[string]any{
		"topic": to.Topic, "partition": to.Partition, "codec": to.Codec, "acks": to.Acks, "idempotent": to.Idempotent, "records": batch,
	}, &offsets)
	return offsets, err
}

func (r *Process) Consume(ctx context.Context, topic string, partition int, offset int64, n int) ([]Record, error) {
	var read []programRecord
	err := r.call(ctx, "consume", map[string]any{"topic": topic, "partition": partition, "offset": offset, "n": n}, &read)
	records := make([]Record, len(read))
	for i, r := range read {
		records[i] = r.record()
	}
	return records, err
}

func (r *Process) ConsumeGroup(ctx context.Context, topic, group string, n int) (map[int][]Record, error) {
	var read []programRecord
	err := r.call(ctx, "consume_group", map[string]any{"topic": topic, "group": group, "n": n}, &read)
	records := map[int][]Record{}
	for _, r := range read {
		records[r.Partition] = append(records[r.Partition], r.record())
	}
	return records, err
}

func (r *Process) OffsetAt(ctx context.Context, topic string, partition int, ms int64) (offset int64, err error) {
	err = r.call(ctx, "offset_at", map[string]any{"topic": topic, "partition": partition, "time": ms}, &offset)
	return offset, err
}

func (r *Process) Topics(ctx context.Context) (names []string, err error) {
	err = r.call(ctx, "topics", map[string]any{}, &names)
	return names, err
}

func (r *Process) Partitions(ctx context.Context, topic string) (n int, err error) {
	err = r.call(ctx, "partitions_of", map[string]any{"topic": topic}, &n)
	return n, err
}

func (r *Process) Groups(ctx context.Context) (ids []string, err error) {
	err = r.call(ctx, "groups", map[string]any{}, &ids)
	return ids, err
}

func (r *Process) GroupState(ctx context.Context, group string) (state string, err error) {
	err = r.call(ctx, "group_state", map[string]any{"group": group}, &state)
	return state, err
}

func (r *Process) DeleteRecords(ctx context.Context, topic string, partition int, before int64) error {
	return r.call(ctx, "delete_records", map[string]any{"topic": topic, "partition": partition, "before": before}, nil)
}

func (r *Process) DeleteGroup(ctx context.Context, group string) error {
	return r.call(ctx, "delete_group", map[string]any{"group": group}, nil)
}
