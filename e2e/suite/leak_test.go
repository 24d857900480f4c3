// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestLeaks puts two gateways through what applications do, one of them several times as often. Once its clients are gone,
// each has as many descriptors as before; both have as many goroutines, and as many bytes in use. Connections to Iggy are left
// aside: idle ones stay for minutes, and how many there are hangs on what happened at the same moment.
//
// Nothing is built into the gateway for this: Linux knows its descriptors, a signal makes Go print all goroutines as it
// ends, and a setting of Go's makes it print what each collection leaves.
func TestLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	bin, err := builder(t)()
	if err != nil {
		t.Fatal(err)
	}
	once, often := leftAfter(t, bin, 1), leftAfter(t, bin, 4)
	t.Logf("%d goroutines and %d MiB are left after one round, %d and %d after four", once.total(), once.heap, often.total(), often.heap)
	if diff := cmp.Diff(once.goroutines, often.goroutines); diff != "" {
		t.Errorf("goroutines by what started them (-after one round +after many):\n%s", diff)
	}
	if most := once.heap + max(once.heap/10, 1); often.heap > most {
		t.Errorf("%d MiB are in use after many rounds, %d after one", often.heap, once.heap)
	}
}

// left is what a gateway has when it is done.
type left struct {
	goroutines map[string]int // by what started them
	heap       int            // in MiB, after a collection; Go tells no more
}

func (l left) total() (n int) {
	for _, some := range l.goroutines {
		n += some
	}
	return n
}

// leftAfter starts a gateway in front of an Iggy server of its own, so that what is stored does not count, and ends it.
func leftAfter(t *testing.T, bin harness.Binaries, rounds int) left {
	t.Helper()
	target := &harness.Target{Name: fmt.Sprint("leaks-", rounds)}
	dir := t.TempDir()
	if err := target.StartIggy(t.Context(), bin, dir); err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, target)
	// Go tells of each collection, and makes them soon.
	if err := target.StartGateway(t.Context(), bin, dir, "GODEBUG=gctrace=1", "GOGC=20", "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0"); err != nil {
		t.Fatal(err)
	}
	gateway := target.Gateway
	before := descriptors(t, target)
	t.Run(target.Name, func(t *testing.T) { // whose end closes all clients
		for range rounds {
			for _, client := range clients.Applications(target.Kafka) {
				a := &application{Application: client, t: t, addr: target.Kafka, topic: topicName(t)}
				a.run(true)
			}
		}
		collect(t, target)
	})
	// Before, there may have been the connection of who looked whether it is ready.
	if !await(t, func() bool { return descriptors(t, target) <= before }) {
		t.Errorf("%d descriptors after %d rounds, %d before", descriptors(t, target), rounds, before)
	}
	gateway.Abort()
	text, err := os.ReadFile(gateway.Log())
	if err != nil {
		t.Fatal(err)
	}
	target.Gateway = nil                                                 // it has ended
	text = text[bytes.LastIndex(text, []byte("serving kafka clients")):] // the file may be one that is kept
	return left{goroutines: goroutines(text), heap: heap(t, text)}
}

// descriptors counts those of a target's gateway, but for its connections to Iggy.
func descriptors(t *testing.T, target *harness.Target) int {
	t.Helper()
	sockets, n := socketsTo(t, target.Iggy.Addr), 0
	folder := filepath.Join("/proc", strconv.Itoa(target.Gateway.PID()), "fd")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		link, err := os.Readlink(filepath.Join(folder, entry.Name()))
		if err == nil && !sockets[link] {
			n++
		}
	}
	return n
}

// socketsTo lists the sockets that are connected to an address, as links of descriptors name them.
func socketsTo(t *testing.T, addr string) map[string]bool {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const peer, inode = 2, 9 // columns
	sockets := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if columns := strings.Fields(line); len(columns) > inode && strings.HasSuffix(columns[peer], fmt.Sprintf(":%04X", number)) {
			sockets["socket:["+columns[inode]+"]"] = true
		}
	}
	return sockets
}

// collect makes garbage in a gateway until it must have been collected several times.
func collect(t *testing.T, target *harness.Target) {
	t.Helper()
	conn := dialRaw(t, target)
	for range 5_000 {
		if _, err := conn.Ask(within(t, limit), kmsg.NewPtrApiVersionsRequest()); err != nil {
			t.Fatal(err)
		}
	}
}

// goroutines counts those of a dump by what started them, but for the first one and for what reads from Iggy.
func goroutines(dump []byte) map[string]int {
	found := map[string]int{}
	for _, by := range regexp.MustCompile(`(?m)^created by (\S+)`).FindAllSubmatch(dump, -1) {
		if starter := string(by[1]); !strings.HasSuffix(starter, "/bridge.newConn") {
			found[starter]++
		}
	}
	return found
}

// heap is what the last collections left at least: some run while requests are served.
func heap(t *testing.T, log []byte) int {
	t.Helper()
	const last = 5
	lines := regexp.MustCompile(`(?m)^gc \d+ .* (\d+)->(\d+)->(\d+) MB`).FindAllSubmatch(log, -1)
	if len(lines) < last {
		t.Fatalf("%d collections are told of, want %d", len(lines), last)
	}
	var sizes []int
	for _, line := range lines[len(lines)-last:] {
		size, err := strconv.Atoi(string(line[3]))
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size)
	}
	return slices.Min(sizes)
}
