// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TestIdleConnections says what a connection costs that has been used and now rests, its peer's side included, which
// is the plain net.Conn: memory of its requests and answers is not kept.
func TestIdleConnections(t *testing.T) {
	const connections, limit = 500, 20 << 10 // about 14 KiB, and 18 under the race detector
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			conn := dial(t, s)
			login(t, conn)
			createTopic(t, conn, 1)
			messages := make([][]byte, 512) // 64 KiB, which memory is given out in
			for i := range messages {
				messages[i] = message(uint64(i+1), strings.Repeat("x", 64))
			}
			frame := sendFrame(t, messages...)
			use := func(conn net.Conn) {
				login(t, conn)
				if _, err := conn.Write(frame); err != nil {
					t.Fatal(err)
				}
				if status, _, err := readAnswer(conn); err != nil || status != iggywire.StatusOK {
					t.Fatal(status, err)
				}
				do(t, conn, crashPoll(0, 0))
			}
			use(conn)
			before := held()
			var open []net.Conn
			for range connections {
				open = append(open, dial(t, s))
				use(open[len(open)-1])
			}
			var got uint64
			if cfg.InMemory { // what the log holds of the sends is no connection's
				got = held() - before - connections*uint64(len(messages)*len(messages[0]))
			} else { // what Pebble holds it gives back when it likes: what counts is what goes with the connections
				got = flushed(t, s)
				for _, conn := range open {
					conn.Close()
				}
				awaitSessions(t, s, 1)
				got -= held()
			}
			if got /= connections; got > limit {
				t.Errorf("%d bytes per connection, want at most %d", got, limit)
			} else {
				t.Logf("%d bytes per connection", got)
			}
		})
	}
}

// flushed is held when nothing waits for Pebble's disk.
func flushed(t *testing.T, s *Server) uint64 {
	t.Helper()
	if err := s.store.(*pebbleStore).db.Flush(); err != nil {
		t.Fatal(err)
	}
	return held()
}

// awaitSessions returns when so many connections are left.
func awaitSessions(t *testing.T, s *Server, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		s.mu.Lock()
		left := len(s.sessions)
		s.mu.Unlock()
		if left == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left, want %d", left, n)
		}
	}
}

// held is how much memory Go has in use, stacks included.
func held() uint64 {
	for range 3 { // pools are emptied by the second, stacks shrink with each
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
