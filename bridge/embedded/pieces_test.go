// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TestSplit takes entries apart: no piece is larger than it may be, unless it is one message, none could hold the next
// piece's first message as well, and together they are the entry.
func TestSplit(t *testing.T) {
	const header = iggywire.MessageHeaderSize
	for _, test := range []struct {
		name     string
		payloads []int // bytes
		limit    int
		want     []int // messages in each piece
	}{
		{"fits", []int{10, 10}, 2 * (header + 10), []int{2}},
		{"a byte too much", []int{10, 11}, 2 * (header + 10), []int{1, 1}},
		{"one too large", []int{1000}, 100, []int{1}},
		{"large ones between small ones", []int{1, 1000, 2000, 1, 1, 1}, 3 * (header + 1), []int{1, 1, 1, 3}},
		{"rest", []int{1, 1, 1, 1, 1}, 2 * (header + 1), []int{2, 2, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			const before = 7000 // bytes in the log
			all := entry{base: 40, timestamp: 5, count: uint32(len(test.payloads)), size: before}
			for i, size := range test.payloads {
				all.messages = append(all.messages, message(uint64(i), strings.Repeat("x", size))...)
			}
			all.size += uint64(len(all.messages))
			var (
				got      []int
				messages []byte
				last     = entry{base: 40, timestamp: 5, size: before}
			)
			for rest := all; rest.count > 0; {
				piece, err := rest.split(test.limit)
				if err != nil {
					t.Fatal(err)
				}
				if piece.base != last.end() || piece.timestamp != 5 || piece.size != last.size+uint64(len(piece.messages)) {
					t.Errorf("%d messages from %d on, the log up to there %d bytes, behind %d messages from %d on and %d bytes",
						piece.count, piece.base, piece.size, last.count, last.base, last.size)
				}
				got, messages, last = append(got, int(piece.count)), append(messages, piece.messages...), piece
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("messages by piece (-want +got):\n%s", diff)
			}
			if !bytes.Equal(messages, all.messages) || last.size != all.size {
				t.Errorf("%d bytes, the log %d, want %d and %d", len(messages), last.size, len(all.messages), all.size)
			}
		})
	}
}

// TestHalfSend cuts the power again and again while sends of several entries are written. Of what was not synced a
// random part reaches the disk; whatever it is, a send is there as a whole or not at all.
func TestHalfSend(t *testing.T) {
	const sends, perSend, crashes = 60, 10, 40
	fs := vfs.NewCrashableMem()
	s := startOn(t, fs)
	conn := dial(t, s)
	login(t, conn)
	createTopic(t, conn, 1)
	var acknowledged atomic.Int64
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range uint64(sends) {
			var messages [][]byte
			for n := range uint64(perSend) {
				messages = append(messages, message(i*perSend+n+1, strings.Repeat("x", 3*pieceSize/perSend)))
			}
			if _, err := conn.Write(sendFrame(t, messages...)); err != nil {
				t.Error(err)
				return
			}
			if status, _, err := readAnswer(conn); err != nil || status != iggywire.StatusOK {
				t.Errorf("send: %v, %v", status, err)
				return
			}
			acknowledged.Add(perSend)
		}
	}()
	random := rand.New(rand.NewPCG(3, 4))
	for range crashes {
		least := acknowledged.Load()
		left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: random})
		again := startOn(t, left)
		check := dial(t, again)
		login(t, check)
		if got := int64(len(pollAll(t, check, 0))); got < least || got%perSend != 0 {
			t.Errorf("%d messages are left of %d acknowledged ones in sends of %d", got, least, perSend)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	<-sent
}

// TestOneEntryPerSend reads what was written when a send was one entry whatever its size, in compressed tables.
func TestOneEntryPerSend(t *testing.T) {
	const count = 3000
	fs := vfs.NewMem()
	s := startOn(t, fs)
	conn := dial(t, s)
	login(t, conn)
	createTopic(t, conn, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	id := s.catalog.streams.get(0).topics.get(0).partitions[0].logID

	old := entry{timestamp: 77, count: count}
	for i := range uint64(count) {
		msg := message(i+1, strings.Repeat("z", 100))
		iggywire.Stamp(msg, i, old.timestamp, func([]byte) uint64 { return 0 })
		old.messages = append(old.messages, msg...)
	}
	old.size = uint64(len(old.messages))
	db, err := pebble.Open("data", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set(appendEntryKey(nil, id, 0), appendEntry(nil, &old), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	s = startOn(t, fs)
	conn = dial(t, s)
	login(t, conn)
	send(t, conn, message(count+1, "new"))
	if got := partitionsOf(t, conn)[0]; got.Messages != count+1 || got.Size != old.size+iggywire.MessageHeaderSize+3 {
		t.Errorf("the partition has %d messages of %d bytes", got.Messages, got.Size)
	}
	all := pollAll(t, conn, 0)
	if len(all) != count+1 {
		t.Fatalf("%d messages, want %d", len(all), count+1)
	}
	for i, msg := range all {
		if offset, id := iggywire.MessageOffset(msg), binary.LittleEndian.Uint64(msg[8:]); offset != uint64(i) || id != uint64(i+1) {
			t.Fatalf("message %d at offset %d where %d was expected", id, offset, i)
		}
	}
	if diff := cmp.Diff([]string{"3000=new"}, poll(t, conn, iggywire.PollTimestamp, old.timestamp+1, 10)); diff != "" {
		t.Errorf("behind its time (-want +got):\n%s", diff)
	}
	if err := s.Lose("s", "t", 0, 2); err != nil {
		t.Fatal(err)
	}
	if got := len(pollAll(t, conn, 0)); got != 2 {
		t.Errorf("%d messages are left of an entry cut behind 2", got)
	}
}
