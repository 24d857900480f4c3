// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// abandonVariable makes the test binary run its tests without looking for
// goroutines that are left.
const abandonVariable = "EMBEDDED_TEST_ABANDON"

// TestDiskFailure breaks the disk under a running server, in each place where it
// is written to: sends are refused from then on, none is left without an answer,
// what was acknowledged before can still be polled, and Close tells the reason.
//
// It runs in a process of its own: a database whose log failed cannot be closed,
// and leaves goroutines behind.
func TestDiskFailure(t *testing.T) {
	apart(t, testDiskFailure)
}

// apart runs a test in a process of its own.
func apart(t *testing.T, test func(*testing.T)) {
	t.Helper()
	if os.Getenv(abandonVariable) != "" {
		test(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), abandonVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func testDiskFailure(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(errorfs.Op) bool
		err    error
		flush  bool // the database does something behind the sends' back
		late   bool // sends are acknowledged before the disk is asked
	}{
		"log cannot be written":       {breaks: on(".log", errorfs.OpFileWrite), err: syscall.ENOSPC},
		"log cannot be synced":        {breaks: on(".log", errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo), err: syscall.EIO},
		"no new log":                  {breaks: on(".log", errorfs.OpCreate, errorfs.OpReuseForWrite), err: syscall.ENOSPC, flush: true},
		"log cannot be written, late": {breaks: on(".log", errorfs.OpFileWrite), err: syscall.ENOSPC, late: true},
		"no new log, late":            {breaks: on(".log", errorfs.OpCreate, errorfs.OpReuseForWrite), err: syscall.ENOSPC, flush: true, late: true},
		"no new table":                {breaks: on(".sst", errorfs.OpCreate), err: syscall.ENOSPC, flush: true},
		"table cannot be written":     {breaks: on(".sst", errorfs.OpFileWrite), err: syscall.ENOSPC, flush: true},
		"manifest cannot be written":  {breaks: on("MANIFEST", errorfs.OpFileWrite), err: syscall.ENOSPC, flush: true},
		"everything is full":          {breaks: func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }, err: syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Bool
			fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if broken.Load() && test.breaks(op) {
					return test.err
				}
				return nil
			}))
			st, err := openPebble(fs, "data", !test.late)
			if err != nil {
				t.Fatal(err)
			}
			s, err := start(t.Context(), Config{}.withDefaults(), st)
			if err != nil {
				t.Fatal(err)
			}
			conn := dial(t, s)
			login(t, conn)
			createTopic(t, conn, 1)
			send(t, conn, message(1, "before"))
			broken.Store(true)
			if test.flush {
				fillMemory(t, conn)
			}
			if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			body := sendBody(t, "s", "t", message(2, "after"))
			for status := iggywire.StatusOK; status != iggywire.StatusCannotAppendMessage; {
				if status, _, err = request(conn, iggywire.CodeSendMessages, body); err != nil {
					t.Fatal(err)
				}
			}
			if status, _ := roundTrip(t, conn, iggywire.CodeCreateStream, iggywire.CreateStream{Name: "other"}.AppendTo(nil)); status != iggywire.StatusError {
				t.Errorf("a stream is created: %v", status)
			}
			if got := poll(t, conn, iggywire.PollFirst, 0, 1); len(got) != 1 || got[0] != "0=before" {
				t.Errorf("polled %q", got)
			}
			if err := s.Close(); err == nil || !strings.Contains(err.Error(), test.err.Error()) {
				t.Errorf("closed with %v, want %v", err, test.err)
			} else if errors.Is(err, errAbandoned) {
				t.Log(err)
			}
		})
	}
}

// on breaks some operations on files whose name contains part.
func on(part string, kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		for _, kind := range kinds {
			if op.Kind == kind && strings.Contains(op.Path, part) {
				return true
			}
		}
		return false
	}
}

// fillMemory sends until the database must write its memory to tables, or cannot.
func fillMemory(t *testing.T, conn net.Conn) {
	t.Helper()
	body := sendBody(t, "s", "t", message(3, strings.Repeat("x", 4<<20)))
	for range 2 * memoryTableSize / (4 << 20) {
		if status, _ := roundTrip(t, conn, iggywire.CodeSendMessages, body); status != iggywire.StatusOK {
			return
		}
	}
}

// TestDiskFailureAtClose fails to write what was acknowledged before it was on the
// disk.
func TestDiskFailureAtClose(t *testing.T) {
	apart(t, func(t *testing.T) {
		var broken atomic.Bool
		st, err := openPebble(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return syscall.ENOSPC
			}
			return nil
		})), "data", false)
		if err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		st.commit(edit{records: []record{{key: "x", value: []byte("y")}}}, func(error) {})
		if err := st.close(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("closed with %v", err)
		}
	})
}
