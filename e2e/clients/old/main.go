// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// The command old makes calls with an old release of a client for Go: old CLIENT BROKER. See Program in the package clients
// for what it reads and prints. It is a module of its own, in no workspace, so that it is made with these releases.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// limit bounds one step of a call.
const limit = 10 * time.Second

var errLacking = errors.New("has no call for it")

// library is what is asked of each client.
type library interface {
	createTopic(topic string, partitions int) error
	deleteTopic(topic string) error
	produce(topic string, partition int, codec string, idempotent bool, records []record) (offsets []int64, err error)
	consume(topic string, partition int, offset int64, n int) ([]record, error)
	consumeGroup(topic, group string, n int) ([]record, error)
	offsetAt(topic string, partition int, ms int64) (int64, error)
	topics() ([]string, error)
	partitionsOf(topic string) (int, error)
	deleteRecords(topic string, partition int, before int64) error
}

type (
	record struct {
		Partition int      `json:"partition"`
		Offset    int64    `json:"offset"`
		Timestamp int64    `json:"timestamp"`
		Key       []byte   `json:"key"`
		Value     []byte   `json:"value"`
		Headers   []header `json:"headers"`
	}
	header struct {
		Name  string `json:"name"`
		Value []byte `json:"value"`
	}
	call struct {
		Call, Topic, Group, Codec string
		Partition, Partitions, N  int
		Offset, Time, Before      int64
		Idempotent                bool
		Records                   []record
	}
	about struct {
		Version     string   `json:"version"`
		Codecs      []string `json:"codecs"`
		Idempotent  bool     `json:"idempotent"`
		TellsOffset bool     `json:"tells_offset"`
		NullIsEmpty bool     `json:"null_is_empty"`
		OwnTimes    bool     `json:"own_times"`
	}
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a client and a broker, not %q", args)
	}
	var client library
	var says about
	switch addr := args[1]; args[0] {
	case "franz-go":
		client = franz{addr}
		says = about{Version: version("github.com/twmb/franz-go"), Codecs: []string{"none", "gzip", "snappy", "lz4", "zstd"}, Idempotent: true, TellsOffset: true, OwnTimes: true}
	case "sarama":
		client = shopify{addr}
		says = about{Version: version("github.com/Shopify/sarama"), Codecs: []string{"none", "gzip", "snappy", "lz4"}, TellsOffset: true}
	case "kafka-go":
		client = segmentio{addr}
		says = about{Version: version("github.com/segmentio/kafka-go"), Codecs: []string{"none", "gzip", "snappy", "lz4"}, TellsOffset: true, NullIsEmpty: true}
	default:
		return fmt.Errorf("there is no client %q", args[0])
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(says); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		if err := out.Encode(answer(client, c)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answer is the line that is printed for a call.
func answer(client library, c call) map[string]any {
	result, err := callOf(client, c)
	switch {
	case errors.Is(err, errLacking):
		return map[string]any{"lacks": err.Error()}
	case err != nil:
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"result": result}
}

func callOf(client library, c call) (any, error) {
	switch c.Call {
	case "create_topic":
		return nil, client.createTopic(c.Topic, c.Partitions)
	case "delete_topic":
		return nil, client.deleteTopic(c.Topic)
	case "produce":
		return client.produce(c.Topic, c.Partition, c.Codec, c.Idempotent, c.Records)
	case "consume":
		return client.consume(c.Topic, c.Partition, c.Offset, c.N)
	case "consume_group":
		return client.consumeGroup(c.Topic, c.Group, c.N)
	case "offset_at":
		return client.offsetAt(c.Topic, c.Partition, c.Time)
	case "topics":
		return client.topics()
	case "partitions_of":
		return client.partitionsOf(c.Topic)
	case "delete_records":
		return nil, client.deleteRecords(c.Topic, c.Partition, c.Before)
	}
	return nil, errLacking
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

func toTime(ms int64) time.Time { return time.UnixMilli(ms) }
