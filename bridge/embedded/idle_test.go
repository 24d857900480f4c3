// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"runtime"
	"strings"
	"testing"

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
			for range connections {
				use(dial(t, s))
			}
			// What the log holds of the sends is no connection's.
			stored := uint64(0)
			if cfg.InMemory {
				stored = connections * uint64(len(messages)*len(messages[0]))
			}
			if got := (held() - before - stored) / connections; got > limit {
				t.Errorf("%d bytes per connection, want at most %d", got, limit)
			} else {
				t.Logf("%d bytes per connection", got)
			}
		})
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
