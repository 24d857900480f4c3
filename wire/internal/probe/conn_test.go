// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire/internal/probe/probetest"
)

// answering writes some bytes when a request has come, and then closes or waits for the end.
func answering(t *testing.T, bytes string, closes bool, timeout time.Duration) *Conn {
	t.Helper()
	addr := probetest.Listen(t, func(conn net.Conn) {
		var request [4]byte
		if _, err := io.ReadFull(conn, request[:]); err != nil {
			return
		}
		if _, err := io.WriteString(conn, bytes); err != nil {
			return
		}
		if !closes {
			_, _ = io.Copy(io.Discard, conn) // until the other side ends
		}
	})
	conn, err := Dial(t.Context(), addr, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Whatever the server does, an exchange ends, and says how.
func TestExchange(t *testing.T) {
	tests := []struct {
		name   string
		bytes  string
		closes bool
		want   error
	}{
		{"answers", "\x00\x00\x00\x02hi", false, nil},
		{"answers and closes", "\x00\x00\x00\x02hi", true, nil},
		{"closes", "", true, ErrNoAnswer},
		{"closes in the length", "\x00\x00", true, ErrNoAnswer},
		{"closes in the answer", "\x00\x00\x00\x02h", true, ErrNoAnswer},
		{"keeps silent", "", false, os.ErrDeadlineExceeded},
		{"stops in the length", "\x00\x00\x00", false, os.ErrDeadlineExceeded},
		{"stops in the answer", "\x00\x00\x00\x02h", false, os.ErrDeadlineExceeded},
		{"negative length", "\xff\xff\xff\xff", false, ErrBadAnswer},
		{"huge length", "\x7f\xff\xff\xff", false, ErrBadAnswer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if test.want == os.ErrDeadlineExceeded {
				timeout = 50 * time.Millisecond
			}
			answer, err := answering(t, test.bytes, test.closes, timeout).Exchange(t.Context(), []byte("ping"))
			if !errors.Is(err, test.want) || err == nil && string(answer) != "hi" {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
}

// The caller's end ends an exchange before its time is up.
func TestExchangeCancelled(t *testing.T) {
	conn := answering(t, "", false, time.Hour)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := conn.Exchange(ctx, []byte("ping")); !errors.Is(err, enough) {
		t.Error(err)
	}
}
