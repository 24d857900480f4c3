// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Program is a client library with one assignor.
type Program struct {
	Client   string
	Assignor string
	Tools    []string // what must be installed; Go is
	Static   bool     // can be a static member
	Patient  bool     // keeps to its member id and its partitions while the coordinator is away, if that is not for long

	command   []string // the run command, relative to the folder e2e/clients, and what goes before the configuration
	arguments func(Config) []string
	parse     func(line []byte) (Event, error)
}

func (p Program) String() string { return p.Client + "-" + p.Assignor }

// Programs lists them all.
func Programs() []Program {
	golang := func(client, assignor string, static bool) Program {
		return Program{Client: client, Assignor: assignor, Static: static, command: []string{"go/member", client}, arguments: jsonArguments, parse: parse}
	}
	python := func(client, script, assignor string) Program {
		return Program{
			Client: client, Assignor: assignor, Static: true, Patient: true, Tools: []string{"python3"},
			command: []string{"python/member", script}, arguments: jsonArguments, parse: parse,
		}
	}
	java := func(assignor string) Program {
		return Program{
			Client: "java", Assignor: assignor, Static: true, Patient: true, Tools: []string{"java", "mvn"},
			command: []string{"java/member"}, arguments: javaArguments, parse: parseJava,
		}
	}
	return []Program{
		golang("franz-go", Range, true),
		golang("franz-go", CooperativeSticky, true),
		golang("sarama", Range, true),
		golang("sarama", RoundRobin, true),
		golang("kafka-go", Range, false),
		java(Range),
		java(CooperativeSticky),
		python("librdkafka", "librdkafka", Range),
		python("librdkafka", "librdkafka", CooperativeSticky),
		python("kafka-python", "kafka_python", Range),
		python("aiokafka", "aio_kafka", RoundRobin),
		{
			Client: "kafkajs", Assignor: RoundRobin, Tools: []string{"node", "npm"},
			command: []string{"node/member"}, arguments: jsonArguments, parse: parse,
		},
	}
}

// jsonArguments are those of the programs that are written for this package.
func jsonArguments(c Config) []string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	return []string{string(text)}
}

// Prepare fetches or builds what the program needs; clients is the folder e2e/clients.
func (p Program) Prepare(ctx context.Context, clients string) error {
	if out, err := exec.CommandContext(ctx, filepath.Join(clients, p.command[0])).CombinedOutput(); err != nil {
		return fmt.Errorf("group: preparing %s: %w\n%s", p.Client, err, out)
	}
	return nil
}
