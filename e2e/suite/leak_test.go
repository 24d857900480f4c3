// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// settleTime is how long a gateway is left alone before what it still has is counted.
const settleTime = time.Minute

// slack is what a heap may grow by when a tenth of it is less: maps and Go's own lists of goroutines keep the size that they once had,
// and a pool may have one connection to Iggy more. After so many clients a leak is larger.
const slack = 1 << 20 // bytes

// servesClient starts the goroutine of a client's connection.
const servesClient = "github.com/iggy-kafka/iggy-kafka/gateway/internal/server.(*Server).accept"

// leakCheck compares what a gateway has before and after the clients of all scenarios in between. It looks at the one that has
// its Iggy in another process, so that what is stored does not count. Connections to Iggy are left aside: idle ones stay for
// minutes, and how many there are hangs on what happened at the same moment.
type leakCheck struct{ first *remains }

// remains is what a gateway has while nobody uses it, its topics and groups are deleted, and garbage is collected.
type remains struct {
	descriptors int
	goroutines  map[string]int // by what started them
	heap        int            // bytes
}

// begin notes what there is. The scenarios before it have made the gateway have what it always keeps.
func (l *leakCheck) begin(t *testing.T, target *harness.Target) {
	if l.applies(t, target) {
		l.first = remaining(t, target)
	}
}

func (l *leakCheck) end(t *testing.T, target *harness.Target) {
	if !l.applies(t, target) {
		return
	}
	if l.first == nil {
		t.Skip("there is nothing to compare with")
	}
	last := remaining(t, target)
	t.Logf("%d descriptors and %d bytes before, %d and %d after", l.first.descriptors, l.first.heap, last.descriptors, last.heap)
	if last.descriptors > l.first.descriptors {
		t.Errorf("%d descriptors, %d before", last.descriptors, l.first.descriptors)
	}
	if diff := cmp.Diff(l.first.goroutines, last.goroutines); diff != "" {
		t.Errorf("goroutines by what started them (-before +after):\n%s", diff)
	}
	if last.heap > l.first.heap+max(l.first.heap/10, slack) {
		t.Errorf("%d bytes are in use, %d before", last.heap, l.first.heap)
	}
}

func (l *leakCheck) applies(t *testing.T, target *harness.Target) bool {
	if target.Name != "separate" || os.Getenv("E2E_RACE") == "true" { // the detector has memory of its own
		return false
	}
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	return true
}

func remaining(t *testing.T, target *harness.Target) *remains {
	t.Helper()
	deleteAll(t, target)
	time.Sleep(settleTime)
	deleteAll(t, target) // groups whose members have not left had to wait for their sessions to end
	r := new(remains)
	await(t, func() bool { // the connections of who has deleted close in their own time
		r.goroutines = goroutines(profile(t, target, "goroutine?debug=2"))
		return r.goroutines[servesClient] == 0
	})
	r.descriptors = descriptors(t, target)
	profile(t, target, "heap?gc=1&debug=1") // what has a finalizer, or is in a pool, goes with the second
	text := profile(t, target, "heap?gc=1&debug=1")
	in := regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`).FindSubmatch(text)
	if in == nil {
		t.Fatalf("no size of the heap in %q", text)
	}
	var err error
	if r.heap, err = strconv.Atoi(string(in[1])); err != nil {
		t.Fatal(err)
	}
	if kept := os.Getenv("E2E_LOGS"); kept != "" {
		name := filepath.Join(kept, fmt.Sprintf("heap-%d.pprof", time.Now().UnixNano()))
		if err := os.WriteFile(name, profile(t, target, "heap"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// deleteAll deletes all groups and topics: both hold memory, and each partition in use a goroutine.
func deleteAll(t *testing.T, target *harness.Target) {
	t.Helper()
	admin := kadm.NewClient(franz(t, target.Kafka))
	defer admin.Close()
	groups, err := admin.ListGroups(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteGroups(within(t, limit), groups.Groups()...); err != nil {
		t.Fatal(err)
	}
	topics, err := admin.ListTopics(within(t, limit)) // all but internal ones
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteTopics(within(t, limit), topics.Names()...); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.ListTopics(within(t, limit)); err != nil { // so that the gateway sees that they have gone
		t.Fatal(err)
	}
}

// profile asks a target's gateway what Go knows of it.
func profile(t *testing.T, target *harness.Target, what string) []byte {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true} // what answers must not count
	client := http.Client{Transport: transport, Timeout: limit}
	resp, err := client.Get("http://" + target.Admin + "/debug/pprof/" + what)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", what, resp.Status, err)
	}
	return text
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

// goroutines counts those of a dump by what started them, but for what reads from Iggy.
func goroutines(dump []byte) map[string]int {
	found := map[string]int{}
	for _, by := range regexp.MustCompile(`(?m)^created by (\S+)`).FindAllSubmatch(dump, -1) {
		if starter := string(by[1]); !strings.HasSuffix(starter, "/bridge.newConn") {
			found[starter]++
		}
	}
	return found
}
