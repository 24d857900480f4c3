// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// crashVariable makes the test binary a server: its value is an apartConfig as JSON.
const crashVariable = "EMBEDDED_TEST_SERVE"

// apartConfig is what the tests here need of a Config.
type apartConfig struct {
	DataDir         string
	LoseUnflushed   bool
	SegmentSize     uint64
	CleanerInterval time.Duration
}

// serveUntilKilled is the other process of the tests here.
func serveUntilKilled(value string) {
	var cfg apartConfig
	err := json.Unmarshal([]byte(value), &cfg)
	var s *Server
	if err == nil {
		s, err = Start(context.Background(), Config{
			DataDir: cfg.DataDir, LoseUnflushed: cfg.LoseUnflushed,
			SegmentSize: cfg.SegmentSize, CleanerInterval: cfg.CleanerInterval,
		})
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	select {}
}

// serveApart starts a server in another process, which kill ends with signal 9.
func serveApart(t *testing.T, cfg apartConfig) (addr string, kill func()) {
	t.Helper()
	value, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+string(value))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		cmd.Wait() // its error says that it was killed
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	addr = strings.TrimSpace(line)
	if err != nil || strings.HasPrefix(addr, "error:") {
		t.Fatalf("server says %q: %v", addr, err)
	}
	return addr, kill
}

const (
	crashSenders    = 6
	crashPartitions = 3
	crashRounds     = 50
	crashBatch      = 10      // messages in one send
	crashLarge      = 8 << 10 // bytes of a message of the first sender, whose sends are several entries
	crashSegment    = 1 << 20 // bytes
)

// crashes is what the clients of TestKill learned, over all rounds.
type crashes struct {
	acknowledged sync.Map                  // message id -> true
	seen         [crashPartitions][]uint64 // ids by offset, as far as they were polled
}

// TestKill kills a server with signal 9 while several connections send and one
// polls, again and again, and checks afterwards that every acknowledged message is
// there once, that every message is at the offset where it was polled, that
// offsets have no holes, and that of a send either all messages are there or none.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	var c crashes
	rounds := crashRounds
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		c.crash(t, dir, round)
	}
	conn := dial(t, startServer(t, Config{DataDir: dir}))
	login(t, conn)
	stored := make(map[uint64]int)
	sends := make(map[uint64]int) // messages by send
	polled := 0
	for partition := range uint32(crashPartitions) {
		all := pollAll(t, conn, partition)
		if len(all) < len(c.seen[partition]) {
			t.Errorf("partition %d: %d messages were polled, %d are left", partition, len(c.seen[partition]), len(all))
		}
		size, active, segments := uint64(0), uint64(0), uint32(1)
		for i, msg := range all {
			size += uint64(len(msg))
			if got := iggywire.MessageOffset(msg); got != uint64(i) {
				t.Fatalf("partition %d: message %d has offset %d", partition, i, got)
			}
			if binary.LittleEndian.Uint64(msg) != xxh3.Hash(msg[8:]) {
				t.Errorf("partition %d: message %d has a wrong checksum", partition, i)
			}
			id := crashID(msg)
			if i < len(c.seen[partition]) && c.seen[partition][i] != id {
				t.Errorf("partition %d: message %d was polled at offset %d, where %d is now", partition, c.seen[partition][i], i, id)
			}
			stored[id]++
			sends[id/crashBatch]++
			if (i+1)%crashBatch == 0 && size-active >= crashSegment {
				segments, active = segments+1, size
			}
		}
		polled += len(c.seen[partition])
		if got := partitionsOf(t, conn)[partition].Segments; got != segments {
			t.Errorf("partition %d: %d segments for %d bytes, want %d", partition, got, size, segments)
		}
	}
	count := 0
	c.acknowledged.Range(func(id, _ any) bool {
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
	if count == 0 || polled == 0 {
		t.Errorf("%d messages acknowledged and %d polled before the kills", count, polled)
	}
	t.Logf("%d kills: %d messages acknowledged, %d polled, %d stored", rounds, count, polled, len(stored))
}

func crashID(msg []byte) uint64 { return binary.LittleEndian.Uint64(msg[8:]) }

// crash runs a server, sends to it and kills it in the middle.
func (c *crashes) crash(t *testing.T, dir string, round int) {
	addr, kill := serveApart(t, apartConfig{DataDir: dir, SegmentSize: crashSegment})
	if round == 0 {
		createCrashTopic(t, addr)
	}
	var clients sync.WaitGroup
	enough := make(chan struct{}, crashSenders)
	for sender := range crashSenders {
		conn := dialAddr(t, addr)
		login(t, conn)
		clients.Go(func() { sendUntilBroken(t, conn, round, sender, &c.acknowledged, enough) })
	}
	conn := dialAddr(t, addr)
	login(t, conn)
	clients.Go(func() { c.pollUntilBroken(t, conn) })
	for range crashSenders {
		<-enough
	}
	kill()
	clients.Wait()
}

// pollUntilBroken goes on where the round before ended.
func (c *crashes) pollUntilBroken(t *testing.T, conn net.Conn) {
	defer conn.Close()
	for {
		for partition := range c.seen {
			seen := &c.seen[partition]
			req := crashPoll(uint32(partition), uint64(len(*seen)))
			status, body, err := request(conn, req.Code(), req.AppendTo(nil))
			if err != nil {
				return
			}
			r, err := iggywire.ParsePollResult(body)
			if err != nil || status != iggywire.StatusOK {
				t.Errorf("poll: %v, %v", status, err)
				return
			}
			for rest := r.Messages; len(rest) > 0; {
				var msg []byte
				if msg, rest, err = iggywire.NextMessage(rest); err != nil {
					t.Error(err)
					return
				}
				*seen = append(*seen, crashID(msg))
			}
		}
	}
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
func sendUntilBroken(t *testing.T, conn net.Conn, round, sender int, acknowledged *sync.Map, enough chan<- struct{}) {
	defer conn.Close()
	const inFlight = 4
	some := 5 + 3*(round%10) // before the kill, which comes at another moment each time
	sent := make(chan uint64, inFlight)
	var writing sync.WaitGroup
	defer writing.Wait()
	broken := make(chan struct{})
	defer close(broken)
	writing.Go(func() {
		for send := uint64(round*crashSenders+sender)<<32 + 1; ; send++ {
			select {
			case sent <- send:
			case <-broken:
				return
			}
			size := 100
			if sender == 0 {
				size = crashLarge
			}
			if _, err := conn.Write(crashSend(t, send, uint32(sender)%crashPartitions, size)); err != nil {
				return
			}
		}
	})
	for answers := 0; ; answers++ {
		if answers == some {
			enough <- struct{}{}
		}
		status, _, err := readAnswer(conn)
		if err != nil {
			if answers < some {
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

func crashSend(t *testing.T, send uint64, partition uint32, size int) []byte {
	body := iggywire.AppendSendHeader(nil, iggywire.NamedID("s"), iggywire.NamedID("t"), iggywire.ToPartition(partition), crashBatch)
	var messages []byte
	for i := range uint64(crashBatch) {
		messages = append(messages, message(send*crashBatch+i, strings.Repeat("x", size))...)
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
	return pollAllFrom(tb, conn, partition, 0)
}

func pollAllFrom(tb testing.TB, conn net.Conn, partition uint32, first uint64) [][]byte {
	tb.Helper()
	var all [][]byte
	for {
		r, err := iggywire.ParsePollResult(do(tb, conn, crashPoll(partition, first+uint64(len(all)))))
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

func crashPoll(partition uint32, offset uint64) iggywire.Poll {
	return iggywire.Poll{
		Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
		Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), HasPartition: true, Partition: partition,
		Strategy: iggywire.PollOffset, Value: offset, Count: 333,
	}
}
