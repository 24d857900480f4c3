// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TestKillRetention kills a server while messages come, retention takes them away as
// fast as it can, and the topic is purged now and then. Each start finds a folder
// that makes sense: as many messages as it says, without holes, and a partition
// that was not purged does not go back.
func TestKillRetention(t *testing.T) {
	cfg := apartConfig{DataDir: t.TempDir(), SegmentSize: retentionSegment, CleanerInterval: time.Millisecond}
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	purge := iggywire.PurgeTopic{Stream: iggywire.NamedID("s"), Topic: iggywire.NamedID("t")}
	trimmed := false
	for round := range rounds {
		addr, kill := serveApart(t, cfg)
		conn := dialAddr(t, addr)
		login(t, conn)
		if round == 0 {
			createRetentionTopic(t, conn, 1, time.Millisecond, 0)
		}
		fill(t, conn, 0, 50)
		last := partitionsOf(t, conn)[0].CurrentOffset

		// Some more, and perhaps a purge, while the server is killed.
		var clients sync.WaitGroup
		sender := dialAddr(t, addr)
		login(t, sender)
		begun := make(chan struct{})
		clients.Go(func() {
			body := sendBody(t, "s", "t", slices.Repeat([][]byte{message(1, "x")}, retentionBatch)...)
			for n := 0; ; n++ {
				if _, _, err := request(sender, iggywire.CodeSendMessages, body); err != nil {
					return
				}
				if n == round%5 {
					close(begun)
				}
			}
		})
		<-begun
		purges := round%3 == 2
		if purges {
			clients.Go(func() { request(conn, purge.Code(), purge.AppendTo(nil)) })
		}
		kill()
		clients.Wait()

		quiet := Config{DataDir: cfg.DataDir, SegmentSize: cfg.SegmentSize, CleanerInterval: -1}
		s := startServer(t, quiet)
		conn = dial(t, s)
		login(t, conn)
		p := partitionsOf(t, conn)[0]
		if !purges && p.CurrentOffset < last {
			t.Errorf("round %d: current offset was %d and is %d", round, last, p.CurrentOffset)
		}
		trimmed = trimmed || p.Messages < p.CurrentOffset
		offset := p.CurrentOffset + 1 - p.Messages
		for _, msg := range pollAllFrom(t, conn, 0, offset) {
			if got := iggywire.MessageOffset(msg); got != offset {
				t.Fatalf("round %d: offset %d where %d was expected", round, got, offset)
			}
			offset++
		}
		if p.Messages > 0 && offset != p.CurrentOffset+1 {
			t.Errorf("round %d: messages up to %d, the last should be %d", round, offset-1, p.CurrentOffset)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !trimmed {
		t.Error("retention took nothing away")
	}
}
