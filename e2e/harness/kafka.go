// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const brokerHeap = "1g" // kafka-server-start.sh's

// Kafka is the reference: the broker that KAFKA_ADDR names, or one that is started here. Where the second is not
// possible the error is ErrNoJava.
func Kafka() (Kind, error) {
	if os.Getenv("KAFKA_ADDR") != "" {
		return Kind{Name: "kafka", Reference: true, Start: namedKafka}, nil
	}
	return Kind{Name: "kafka", Reference: true, Start: startKafka}, haveJava()
}

// namedKafka takes the broker that KAFKA_ADDR names; it can be neither configured nor restarted.
func namedKafka(context.Context, Binaries, string, ...string) (*Target, error) {
	return &Target{Name: "kafka", Kafka: os.Getenv("KAFKA_ADDR"), Durable: true}, nil
}

// startKafka runs a broker of one node that is its own controller (KRaft), as it is shipped but for what one node needs,
// and for topics: nobody gets one by naming it, and they keep their records. Settings are the gateway's: it follows the one
// that says whether topics are created by naming them.
func startKafka(ctx context.Context, _ Binaries, dir string, settings ...string) (*Target, error) {
	jars, err := KafkaJars(ctx)
	if err != nil {
		return nil, err
	}
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	controller, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	t := &Target{Name: "kafka", Kafka: addr, Durable: true}
	properties := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(properties, []byte(brokerProperties(addr, controller, filepath.Join(dir, "data"), slices.Contains(settings, "IGGY_KAFKA_AUTO_CREATE_TOPICS=true"))), 0o644); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	format := exec.CommandContext(ctx, "java", jars.java("256m", "ERROR", "kafka.tools.StorageTool",
		"format", "--standalone", "--cluster-id="+clusterID(), "--config", properties)...)
	if out, err := format.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("harness: formatting Kafka's folder: %w\n%s", err, out)
	}
	t.Broker, err = start(ctx, Program{
		name: "kafka", log: t.logFile(dir, "kafka"), ready: answers(addr), stopCode: JVMStopCode,
		path: "java", args: append([]string{"-Xms" + brokerHeap}, jars.java(brokerHeap, "WARN", "kafka.Kafka", properties)...),
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func brokerProperties(addr, controller, data string, autoCreate bool) string {
	return strings.Join([]string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.bootstrap.servers=" + controller,
		"controller.listener.names=CONTROLLER",
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAINTEXT://" + addr,
		"log.dirs=" + data,
		fmt.Sprintf("auto.create.topics.enable=%t", autoCreate),
		"log.retention.ms=-1", // tests write timestamps of other years
		"offsets.topic.replication.factor=1",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
	}, "\n") + "\n"
}

// clusterID is made as Kafka makes them: 16 random bytes in URL-safe base64.
func clusterID() string {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	return base64.RawURLEncoding.EncodeToString(id)
}
