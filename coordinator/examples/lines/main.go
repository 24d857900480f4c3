// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command lines is a gateway for a protocol of one line per request, for nc and telnet. Workers of a group share four
// queues and note how far they have come.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	driver, err := coordinator.NewDriver(coordinator.DriverConfig{
		Config: coordinator.DefaultConfig(),
		Store:  coordinator.NewMemoryStore(), // or one that lasts: two methods, or package statelog
	})
	if err != nil {
		log.Fatal(err)
	}
	go driver.Run(ctx)
	listener, err := net.Listen("tcp", "127.0.0.1:7007")
	if err != nil {
		log.Fatal(err)
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(ctx, driver, conn)
	}
}

// worker is one client: what it has to remember of the generation that it is in.
type worker struct {
	driver     *coordinator.Driver
	id, group  string
	generation int32
}

func serve(ctx context.Context, driver *coordinator.Driver, conn net.Conn) {
	defer conn.Close()
	w := worker{driver: driver}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		answer, err := w.answer(ctx, lines.Text())
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Fprintln(conn, answer)
	}
	// A connection is a worker's life here. Kafka's members live on until their session ends.
	driver.Leave(ctx, w.group, coordinator.Leave{Members: []coordinator.Identity{{MemberID: w.id}}})
}

// answer carries out "work GROUP", "alive", "done QUEUE OFFSET" or "where QUEUE".
func (w *worker) answer(ctx context.Context, line string) (string, error) {
	var queue coordinator.TopicPartition
	queue.Topic = "queue"
	var offset int64
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "work":
		w.group = rest
		return w.work(ctx)
	case "alive":
		return "go on", w.driver.Heartbeat(ctx, w.group, coordinator.Heartbeat{MemberID: w.id, Generation: w.generation})
	case "done":
		if _, err := fmt.Sscan(rest, &queue.Partition, &offset); err != nil {
			return "", err
		}
		_, err := w.driver.Commit(ctx, w.group, coordinator.Commit{
			MemberID: w.id, Generation: w.generation,
			Offsets: []coordinator.OffsetCommit{{TopicPartition: queue, Offset: offset}},
		})
		return "noted", err
	case "where":
		if _, err := fmt.Sscan(rest, &queue.Partition); err != nil {
			return "", err
		}
		found, err := w.driver.Offsets(ctx, w.group, []coordinator.OffsetQuery{{TopicPartition: queue}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(found[0].Offset), nil
	}
	return "", fmt.Errorf("no such request: %q", verb)
}

// work joins the group, or joins anew, and waits for what the leader assigns.
func (w *worker) work(ctx context.Context) (string, error) {
	joined, err := w.driver.Join(ctx, w.group, coordinator.Join{
		MemberID: w.id, ClientID: "worker",
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "work", Protocols: []coordinator.Protocol{{Name: "one-by-one"}},
	})
	if err != nil {
		return "", err
	}
	w.id, w.generation = joined.MemberID, joined.Generation
	sync := coordinator.Sync{MemberID: w.id, Generation: w.generation}
	for i, member := range joined.Members { // the leader alone is told all members
		var queues []string
		for queue := i; queue < 4; queue += len(joined.Members) {
			queues = append(queues, fmt.Sprint(queue))
		}
		sync.Assignments = append(sync.Assignments, coordinator.Assignment{MemberID: member.MemberID, Data: []byte(strings.Join(queues, " "))})
	}
	synced, err := w.driver.Sync(ctx, w.group, sync)
	return "queues " + string(synced.Assignment), err
}
