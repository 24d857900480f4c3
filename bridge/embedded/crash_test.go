// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// crashDirVariable makes the test binary a server on the folder that it names.
const crashDirVariable = "EMBEDDED_TEST_SERVE"

// serveUntilKilled is the other process of TestKill.
func serveUntilKilled(dir string) {
	s, err := Start(context.Background(), Config{DataDir: dir})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	select {}
}

const (
	crashSenders    = 6
	crashPartitions = 3
	crashRounds     = 3
)

// TestKill kills a server with signal 9 while several connections send, more
// than once, and checks afterwards that every acknowledged message is where its
// sender learned that it is, that offsets have no holes, and that of a send
// either all messages are there or none.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	var acknowledged sync.Map // message id -> true
	for round := range crashRounds {
		crash(t, dir, round, &acknowledged)
	}
	s := startServer(t, Config{DataDir: dir})
	conn := dial(t, s)
	login(t, conn)
	stored := make(map[uint64]int)
	sends := make(map[uint64]int) // messages by send
	for partition := range uint32(crashPartitions) {
		for i, msg := range pollAll(t, conn, partition) {
			if got := iggywire.MessageOffset(msg); got != uint64(i) {
				t.Fatalf("partition %d: message %d has offset %d", partition, i, got)
			}
			if binary.LittleEndian.Uint64(msg) != xxh3.Hash(msg[8:]) {
				t.Errorf("partition %d: message %d has a wrong checksum", partition, i)
			}
			id := binary.LittleEndian.Uint64(msg[8:])
			stored[id]++
			sends[id/crashBatch]++
		}
	}
	count := 0
	acknowledged.Range(func(id, _ any) bool {
		count++
		if stored[id.(uint64)] != 1 {
			t.Errorf("acknowledged message %d is stored %d times", id, stored[id.(uint64)])
		}
		return true
	})
	for send, n := range sends {
		if n != crashBatch {
			t.Errorf("send %d is torn: %d of %d messages", send, n, crashBatch)
		}
	}
	if count == 0 {
		t.Error("nothing was acknowledged before the kills")
	}
	t.Logf("%d messages acknowledged, %d stored", count, len(stored))
}

// crashBatch is the number of messages in one send.
const crashBatch = 10

// crash runs a server, sends to it and kills it in the middle.
func crash(t *testing.T, dir string, round int, acknowledged *sync.Map) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDirVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr := strings.TrimSpace(line)
	if err != nil || strings.HasPrefix(addr, "error:") {
		t.Fatalf("server says %q: %v", addr, err)
	}
	if round == 0 {
		createCrashTopic(t, addr)
	}
	var senders sync.WaitGroup
	enough := make(chan struct{}, crashSenders)
	for sender := range crashSenders {
		conn := dialAddr(t, addr)
		login(t, conn)
		senders.Go(func() { sendUntilBroken(t, conn, round*crashSenders+sender, acknowledged, enough) })
	}
	for range crashSenders {
		<-enough
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	senders.Wait()
	cmd.Wait() // its error says that it was killed
}

func createCrashTopic(t *testing.T, addr string) {
	conn := dialAddr(t, addr)
	login(t, conn)
	do(t, conn, iggywire.CreateStream{Name: "s"})
	do(t, conn, iggywire.CreateTopic{
		Stream: iggywire.NamedID("s"), Name: "t",
		Partitions: crashPartitions, Compression: iggywire.CompressionNone,
	})
}

// sendUntilBroken sends with several requests in flight and notes what was
// answered. It reports on enough after some answers.
func sendUntilBroken(t *testing.T, conn net.Conn, sender int, acknowledged *sync.Map, enough chan<- struct{}) {
	defer conn.Close()
	const inFlight = 4
	sent := make(chan uint64, inFlight)
	var writing sync.WaitGroup
	defer writing.Wait()
	broken := make(chan struct{})
	defer close(broken)
	writing.Go(func() {
		for send := uint64(sender)<<32 + 1; ; send++ {
			select {
			case sent <- send:
			case <-broken:
				return
			}
			if _, err := conn.Write(crashSend(t, send, uint32(sender)%crashPartitions)); err != nil {
				return
			}
		}
	})
	for answers := 0; ; answers++ {
		if answers == 50 {
			enough <- struct{}{}
		}
		status, _, err := readAnswer(conn)
		if err != nil {
			if answers < 50 {
				t.Errorf("sender %d: broken after %d answers: %v", sender, answers, err)
				enough <- struct{}{}
			}
			return
		}
		if status != iggywire.StatusOK {
			t.Errorf("sender %d: %v", sender, status)
		}
		send := <-sent
		for i := range uint64(crashBatch) {
			acknowledged.Store(send*crashBatch+i, true)
		}
	}
}

func crashSend(t *testing.T, send uint64, partition uint32) []byte {
	body := iggywire.AppendSendHeader(nil, iggywire.NamedID("s"), iggywire.NamedID("t"), iggywire.ToPartition(partition), crashBatch)
	var messages []byte
	for i := range uint64(crashBatch) {
		messages = append(messages, message(send*crashBatch+i, strings.Repeat("x", 100))...)
	}
	body, _, err := iggywire.AppendIndexes(body, messages, 0)
	if err != nil {
		t.Error(err)
	}
	frame := iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(body)+len(messages))
	return append(append(frame, body...), messages...)
}

// pollAll returns all messages of a partition of topic t in stream s.
func pollAll(tb testing.TB, conn net.Conn, partition uint32) [][]byte {
	tb.Helper()
	var all [][]byte
	for {
		r, err := iggywire.ParsePollResult(do(tb, conn, iggywire.Poll{
			Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
			Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"),
			HasPartition: true, Partition: partition,
			Strategy: iggywire.PollOffset, Value: uint64(len(all)), Count: 333,
		}))
		if err != nil {
			tb.Fatal(err)
		}
		if r.Count == 0 {
			return all
		}
		for rest := r.Messages; len(rest) > 0; {
			var msg []byte
			if msg, rest, err = iggywire.NextMessage(rest); err != nil {
				tb.Fatal(err)
			}
			all = append(all, msg)
		}
	}
}
