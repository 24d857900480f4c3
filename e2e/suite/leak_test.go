// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

const (
	// settleTime is how long a gateway is left alone until it may have no more than before.
	settleTime = time.Minute
	// idleTime is after how long it has closed the connections to Iggy that it does not need, as TestSuite has set it up.
	idleTime = 15 * time.Second
	// crowdSize is about as many clients as a gateway serves at a time, with the settings that it has by itself.
	crowdSize = 1000
)

// servesClient starts the goroutine of a client's connection.
const servesClient = "github.com/iggy-kafka/iggy-kafka/gateway/internal/server.(*Server).accept"

// leakCheck compares what a gateway has before and after the clients of all scenarios in between. It looks at the one that has
// its Iggy in another process, so that what is stored does not count.
//
// Before is when each of the Go clients has come and cleaned up once, and there was a crowd: what is made when it is first
// needed and kept (tables, a decompressor for each processor, of 136 KiB) is no leak. Nor are the 450 bytes that Go keeps for
// each goroutine of the time when there were most. From then on the heap grows by some 4 % in all scenarios, most of it maps of
// Go's, which do not shrink.
type leakCheck struct{ first *remains }

// remains is what a gateway has while nobody uses it, its topics and groups are deleted, and garbage is collected.
type remains struct {
	descriptors int
	goroutines  map[string]int // by what started them
	heap        int            // bytes
}

// begin notes what there is.
func (l *leakCheck) begin(t *testing.T, target *harness.Target) {
	if !l.applies(t, target) {
		return
	}
	compressed(t, target)
	crowd(t, target)
	deleteAll(t, target)
	time.Sleep(idleTime)
	l.first = remaining(t, target)
	t.Logf("%d descriptors and %d bytes of heap", l.first.descriptors, l.first.heap)
}

// end waits until there is no more than before, but for the heap, which may have grown by a tenth.
func (l *leakCheck) end(t *testing.T, target *harness.Target) {
	if !l.applies(t, target) {
		return
	}
	if l.first == nil {
		t.Skip("there is nothing to compare with")
	}
	deleteAll(t, target)
	for deadline := time.Now().Add(settleTime); ; time.Sleep(2 * time.Second) {
		last := remaining(t, target)
		leaks := l.first.lessThan(last)
		if len(leaks) == 0 || time.Now().After(deadline) {
			t.Logf("%d descriptors and %d bytes of heap, %d before", last.descriptors, last.heap, l.first.heap)
			for _, leak := range leaks {
				t.Error(leak)
			}
			return
		}
	}
}

// lessThan lists what there is too much of later.
func (r *remains) lessThan(later *remains) (leaks []string) {
	if later.descriptors > r.descriptors {
		leaks = append(leaks, fmt.Sprintf("%d descriptors, %d before", later.descriptors, r.descriptors))
	}
	for _, starter := range slices.Sorted(maps.Keys(later.goroutines)) {
		if n := later.goroutines[starter]; n > r.goroutines[starter] {
			leaks = append(leaks, fmt.Sprintf("%d goroutines started by %s, %d before", n, starter, r.goroutines[starter]))
		}
	}
	if later.heap > r.heap+r.heap/10 {
		leaks = append(leaks, fmt.Sprintf("%d bytes of heap, %d before", later.heap, r.heap))
	}
	return leaks
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

// compressed has every decompressor of a gateway used, of which there is one for each processor and the one used least lately has
// its turn.
func compressed(t *testing.T, target *harness.Target) {
	t.Helper()
	topic := topicName(t)
	client := franz(t, target.Kafka, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(within(t, limit), 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	random, text := rand.New(rand.NewPCG(1, 2)), []byte(nil) // no less than a block, with all that a block may have
	for len(text) < 256<<10 {
		text = fmt.Appendf(text, "%x is in one of the lines of this text\n", random.Uint64())
	}
	for range 2 * runtime.NumCPU() {
		if err := client.ProduceSync(within(t, limit), &kgo.Record{Value: text}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// crowd has a gateway serve many clients at the same time, who say nothing.
func crowd(t *testing.T, target *harness.Target) {
	t.Helper()
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for range crowdSize {
		conn, err := net.Dial("tcp", target.Kafka)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	if !await(t, func() bool { return goroutines(t, target)[servesClient] >= crowdSize }) {
		t.Fatalf("not all of %d clients are served", crowdSize)
	}
}

func remaining(t *testing.T, target *harness.Target) *remains {
	t.Helper()
	r := new(remains)
	await(t, func() bool { // the connections of who has deleted close in their own time
		r.goroutines = goroutines(t, target)
		return r.goroutines[servesClient] == 0
	})
	r.descriptors = descriptors(t, target)
	if kept := os.Getenv("E2E_LOGS"); kept != "" {
		for name, path := range map[string]string{"heap-%d.pprof": "/debug/pprof/heap?gc=1", "metrics-%d.txt": "/metrics"} {
			name = filepath.Join(kept, fmt.Sprintf(name, time.Now().Unix()))
			if err := os.WriteFile(name, askOperator(t, target, path), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.heap = heap(t, target)
	return r
}

// heap is what is in use on a gateway's heap, in bytes: the least of some looks, as there is always something going on, and what has
// a finalizer or is in a pool goes with the second collection of garbage.
func heap(t *testing.T, target *harness.Target) int {
	t.Helper()
	least := math.MaxInt
	for range 5 {
		text := profile(t, target, "heap?gc=1&debug=1")
		in := regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`).FindSubmatch(text)
		if in == nil {
			t.Fatalf("no size of the heap in %q", text)
		}
		n, err := strconv.Atoi(string(in[1]))
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, n)
	}
	return least
}

// deleteAll deletes all groups and topics: both hold memory, and each partition in use a goroutine.
func deleteAll(t *testing.T, target *harness.Target) {
	t.Helper()
	client := franz(t, target.Kafka)
	admin := kadm.NewClient(client)
	defer admin.Close()
	groups, err := admin.DescribeGroups(within(t, limit)) // all
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Sorted() {
		leave := kmsg.NewPtrLeaveGroupRequest() // for clients that have gone without a word, some of which had time for half an hour
		leave.Group = group.Group
		for _, member := range group.Members {
			leave.Members = append(leave.Members, kmsg.LeaveGroupRequestMember{MemberID: member.MemberID, InstanceID: member.InstanceID})
		}
		if _, err := leave.RequestWith(within(t, limit), client); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.DeleteGroups(within(t, limit), groups.Names()...); err != nil {
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
	return askOperator(t, target, "/debug/pprof/"+what)
}

// askOperator asks a target's gateway as those who operate it do.
func askOperator(t *testing.T, target *harness.Target, path string) []byte {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true} // what answers must not count
	client := http.Client{Transport: transport, Timeout: limit}
	resp, err := client.Get("http://" + target.Admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
	return text
}

// descriptors counts those of a target's gateway.
func descriptors(t *testing.T, target *harness.Target) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(target.Gateway.PID()), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// goroutines counts those of a target's gateway by what started them.
func goroutines(t *testing.T, target *harness.Target) map[string]int {
	t.Helper()
	found := map[string]int{}
	dump := profile(t, target, "goroutine?debug=2")
	for _, by := range regexp.MustCompile(`(?m)^created by (\S+)`).FindAllSubmatch(dump, -1) {
		found[string(by[1])]++
	}
	return found
}
