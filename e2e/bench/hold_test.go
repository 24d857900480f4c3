// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// answering accepts connections and answers every request with its correlation id and a few bytes; it counts both.
func answering(t *testing.T) (addr string, connections, requests *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { l.Close(); serving.Wait() })
	connections, requests = new(atomic.Int32), new(atomic.Int32)
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			serving.Go(func() {
				defer conn.Close()
				var head [12]byte // size, key, version, correlation id
				for {
					if _, err := io.ReadFull(conn, head[:]); err != nil {
						return
					}
					if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:]))-8); err != nil {
						return
					}
					requests.Add(1)
					conn.Write(append([]byte{0, 0, 0, 7}, append(head[8:12:12], "abc"...)...))
				}
			})
		}
	})
	return l.Addr().String(), connections, requests
}

func TestHold(t *testing.T) {
	addr, connections, requests := answering(t)
	var out strings.Builder
	if err := hold(t.Context(), addr, strings.NewReader("1\n2\n0\n"), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != strings.Repeat(heldAnswer, 3) {
		t.Errorf("said %q", got)
	}
	if c, r := connections.Load(), requests.Load(); c != 3 || r != 2*(1+3+3) {
		t.Errorf("%d connections, %d requests", c, r)
	}
	if err := hold(t.Context(), addr, strings.NewReader("many\n"), &out); err == nil {
		t.Error("took a number that is none")
	}
}

func TestKindsNamed(t *testing.T) {
	kinds, err := kindsNamed([]string{"separate", "embedded-memory"})
	if err != nil || len(kinds) != 2 || kinds[0].Name != "separate" || kinds[1].Name != "embedded-memory" {
		t.Errorf("%v, %v", kinds, err)
	}
	if _, err := kindsNamed([]string{"separate", "none"}); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Error(err)
	}
}
