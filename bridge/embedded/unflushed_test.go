// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TestLoseUnflushed kills a server that is to lose what a real one had not flushed
// and starts it again: it lost just that, and gives the offsets out again.
func TestLoseUnflushed(t *testing.T) {
	dir := t.TempDir()
	addr, kill := serveApart(t, apartConfig{DataDir: dir, LoseUnflushed: true})
	conn := dialAddr(t, addr)
	login(t, conn)
	createTopic(t, conn, 4)
	fill(t, conn, 0, 1050) // 1,030, in tens, are flushed for their number
	fill(t, conn, 1, 20)
	do(t, conn, iggywire.FlushUnsaved{Stream: iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), Partition: 1})
	fill(t, conn, 1, 5)
	large := sendBody(t, "s", "t", message(1, strings.Repeat("x", flushBytes)))
	fill(t, conn, 2, 3)
	if got, want := counts(t, conn), []uint64{1050, 25, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("%d messages before the kill, want %d", got, want)
	}
	kill()

	// In its next life partition 0 is flushed for its size, and loses what came later.
	addr, kill = serveApart(t, apartConfig{DataDir: dir, LoseUnflushed: true})
	conn = dialAddr(t, addr)
	login(t, conn)
	if got, want := counts(t, conn), []uint64{1030, 20, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%d messages after the kill, want %d", got, want)
	}
	if status, _ := roundTrip(t, conn, iggywire.CodeSendMessages, large); status != iggywire.StatusOK {
		t.Fatal(status)
	}
	fill(t, conn, 0, 4)
	fill(t, conn, 2, 2)
	kill()

	// A server that is closed loses nothing, and one that need not lose keeps all.
	cfg := Config{DataDir: dir, LoseUnflushed: true}
	s := startServer(t, cfg)
	conn = dial(t, s)
	login(t, conn)
	if got, want := counts(t, conn), []uint64{1031, 20, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%d messages after the second kill, want %d", got, want)
	}
	fill(t, conn, 3, 7)
	all := pollAll(t, conn, 3)
	if len(all) != 7 || iggywire.MessageOffset(all[6]) != 6 {
		t.Errorf("%d messages polled", len(all))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	addr, kill = serveApart(t, apartConfig{DataDir: dir, LoseUnflushed: true})
	conn = dialAddr(t, addr)
	login(t, conn)
	fill(t, conn, 3, 1)
	kill()
	cfg.LoseUnflushed = false
	s = startServer(t, cfg)
	conn = dial(t, s)
	login(t, conn)
	if got, want := counts(t, conn), []uint64{1031, 20, 0, 8}; !slices.Equal(got, want) {
		t.Errorf("%d messages in the end, want %d", got, want)
	}
}

// counts returns the number of messages in each partition of topic t in stream s.
func counts(tb testing.TB, conn net.Conn) (all []uint64) {
	tb.Helper()
	for _, p := range partitionsOf(tb, conn) {
		all = append(all, p.Messages)
	}
	return all
}
