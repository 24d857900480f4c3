// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestAgainstBroker asks a broker and the gateway the same, at random: each field of each answer must be the same. It
// needs a broker (E2E_KAFKA or KAFKA_ADDR); E2E_SEEDS is how many runs there are, each with a seed of its own.
func TestAgainstBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	kinds := harness.Kinds()
	reference := slices.IndexFunc(kinds, func(k harness.Kind) bool { return k.Reference })
	if reference < 0 {
		t.Skip("no broker to compare with: E2E_KAFKA=true starts one")
	}
	seeds := 20
	if asked, err := strconv.Atoi(os.Getenv("E2E_SEEDS")); err == nil {
		seeds = asked
	}
	build := builder(t)
	broker := start(t, kinds[reference], build)
	gateway := start(t, kinds[0], build)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			want, got := randomRun(t, broker, uint64(seed)), randomRun(t, gateway, uint64(seed))
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("seed %d (-broker +gateway):\n%s", seed, diff)
			}
		})
	}
}

const (
	randomSteps      = 150
	randomPartitions = 3
	randomProducers  = 3
)

// random is one run of requests about one topic. What it asks depends on what it was answered: after the first difference
// the runs part.
type random struct {
	*transcript
	*rand.Rand
	topic     topicRef
	producers [randomProducers]struct {
		id    int64
		epoch int16
		next  [randomPartitions]int32
	}
	bases   [randomPartitions][]int64 // where batches begin: a broker answers with all of the one that holds an offset
	version int16                     // of requests in sessions
	session int32
	epoch   int32
}

func randomRun(t *testing.T, target *harness.Target, seed uint64) string {
	s := newTranscript(t, target)
	r := &random{transcript: s, Rand: rand.New(rand.NewPCG(seed, 0)), topic: s.create("topic", randomPartitions)}
	for i := range r.producers {
		r.producers[i].id = producerID(t, s.conn)
		s.names[fmt.Sprintf("ProducerID=%d", r.producers[i].id)] = fmt.Sprintf("ProducerID=P%d", i)
	}
	r.version = []int16{11, 12, 13, 17}[r.IntN(4)]
	steps := []func(){r.write, r.write, r.write, r.write, r.write, r.read, r.read, r.readSession, r.readSession, r.readSession, r.list, r.list, r.remove, r.describe}
	for range randomSteps {
		steps[r.IntN(len(steps))]()
	}
	s.ask("close", sessionRequest(r.version, r.session, -1))
	return s.text.String()
}

// write sends what follows mostly, and otherwise what is near to it.
func (r *random) write() {
	partition, n := r.IntN(randomPartitions), 1+r.IntN(3)
	p := &r.producers[r.IntN(randomProducers)]
	if r.IntN(20) == 0 {
		p.epoch++
		p.next = [randomPartitions]int32{}
	}
	first, epoch := p.next[partition], p.epoch
	switch r.IntN(10) {
	case 0:
		first += r.Int32N(3)
	case 1, 2, 3:
		first = max(0, first-r.Int32N(8))
	case 4:
		epoch = max(0, epoch-1)
	}
	batch := sequenced(p.id, epoch, first, n)
	if r.IntN(8) == 0 {
		batch = clients.AppendBatch(nil, clients.NewBatch(plainRecords(n)...))
	}
	step := fmt.Sprintf("write to %d: epoch %d, sequence %d, %d records", partition, epoch, first, n)
	resp, ok := r.ask(step, produceRequest(9+4*int16(r.IntN(2)), r.topic, int32(partition), batch)).(*kmsg.ProduceResponse)
	if !ok {
		return
	}
	if told := resp.Topics[0].Partitions[0]; told.ErrorCode == 0 && told.LogAppendTime < 0 { // no duplicate
		r.bases[partition] = append(r.bases[partition], told.BaseOffset)
		if epoch == p.epoch && first >= p.next[partition] {
			p.next[partition] = first + int32(n)
		}
	}
}

// place is a partition and somewhere to read it from.
func (r *random) place() fetchFrom {
	partition := r.IntN(randomPartitions)
	at := r.Int64N(2) - 1
	if bases := r.bases[partition]; len(bases) > 0 && r.IntN(8) > 0 {
		at = bases[r.IntN(len(bases))]
	}
	if r.IntN(10) == 0 {
		at = 1000
	}
	return fetchFrom{r.topic, int32(partition), at}
}

func (r *random) read() {
	req := fetchRequest([]int16{4, 11, 12, 13, 18}[r.IntN(5)], r.place())
	req.IsolationLevel = int8(r.IntN(2))
	r.ask(fmt.Sprintf("read %d from %d", req.Topics[0].Partitions[0].Partition, req.Topics[0].Partitions[0].FetchOffset), req)
}

func (r *random) readSession() {
	session, epoch := r.session, r.epoch
	if r.IntN(15) == 0 {
		epoch += r.Int32N(3) - 1
	}
	if r.IntN(15) == 0 {
		session, epoch = 0, 0
	}
	req := sessionRequest(r.version, session, epoch)
	named := [randomPartitions + 1]bool{} // once each: a broker takes the last
	for range r.IntN(3) {
		from := r.place()
		if r.IntN(10) == 0 {
			from.partition = randomPartitions // which is not there
		}
		if !named[from.partition] {
			named[from.partition] = true
			addPartition(req, from)
		}
	}
	if epoch > 0 && r.IntN(6) == 0 {
		forget(req, r.topic, r.Int32N(randomPartitions+1))
	}
	resp, ok := r.ask(fmt.Sprintf("session, epoch %d, %v forgotten", epoch, len(req.ForgottenTopics)), req).(*kmsg.FetchResponse)
	switch {
	case !ok || resp.ErrorCode != 0:
	case resp.SessionID == 0:
		r.session, r.epoch = 0, 0
	default:
		r.session, r.epoch = resp.SessionID, epoch+1
	}
}

func (r *random) list() {
	timestamp := firstTimestamp + r.Int64N(40) - 2
	if r.IntN(3) == 0 {
		timestamp = -1 - r.Int64N(2)
	}
	partition := r.Int32N(randomPartitions)
	r.ask(fmt.Sprintf("time %d of %d", timestamp, partition), listOffsetsRequest(7, r.topic.name, timestamp, partition, -1+r.Int32N(3)))
	r.ask("end of epoch 0", leaderEpochRequest(4, r.topic.name, partition, -1, 0))
}

func (r *random) remove() {
	from := r.place()
	r.ask(fmt.Sprintf("delete what is before %d of %d", from.offset, from.partition), deleteRecordsRequest(2, r.topic.name, from.partition, from.offset))
}

func (r *random) describe() {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: r.topic.name, Partitions: []int32{0, 1, 2}}}
	r.ask("producers", req)
}
