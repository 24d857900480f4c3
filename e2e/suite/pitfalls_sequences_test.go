// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// sequenced is a batch of n records of an idempotent producer; timestamps and values count with the sequence.
func sequenced(id int64, epoch int16, first int32, n int) []byte {
	var records []clients.Record
	for i := range n {
		at := int64(first) + int64(i)
		records = append(records, clients.Record{Timestamp: firstTimestamp + at, Value: fmt.Appendf(nil, "%d", at)})
	}
	b := clients.NewBatch(records...)
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, first
	return clients.AppendBatch(nil, b)
}

// producerID asks for an id.
func producerID(t *testing.T, conn *clients.Raw) int64 {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.ProducerID, req.ProducerEpoch = 4, -1, -1
	var id int64
	if !await(t, func() bool { // a broker makes the topic of its transactions first
		answer := askRaw[*kmsg.InitProducerIDResponse](t, conn, req)
		id = answer.ProducerID
		return answer.ErrorCode == 0
	}) {
		t.Fatal("no producer id")
	}
	return id
}

// testSequences: the last five batches of a producer are known again, and what does not follow on them is refused (KIP-98).
func testSequences(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 4)
	id := producerID(t, s.conn)
	on := func(partition int32, id int64) func(step string, epoch int16, first int32, n int) {
		return func(step string, epoch int16, first int32, n int) {
			t.Helper()
			s.ask(fmt.Sprintf("%s: epoch %d, sequence %d, %d records", step, epoch, first, n), produceRequest(9, topic, partition, sequenced(id, epoch, first, n)))
		}
	}
	write := on(0, id)
	write("the first", 0, 0, 5)
	write("again", 0, 0, 5)
	write("a gap", 0, 7, 1)
	for first := int32(5); first < 15; first += 2 {
		write("the next", 0, first, 2)
	}
	write("the last again", 0, 13, 2)
	write("the oldest that is known", 0, 5, 2)
	write("older", 0, 0, 5)
	write("the last, one record more", 0, 13, 3)
	write("the last, one record less", 0, 13, 1)
	write("its second half", 0, 14, 1)
	write("below zero", 0, -1, 1)
	write("a lower epoch", -1, 15, 1)
	write("a higher epoch, not from zero", 1, 15, 1)
	write("a higher epoch", 1, 0, 2)
	write("again", 1, 0, 2)
	write("the older epoch goes on", 0, 15, 1)
	write("a duplicate of the older epoch", 0, 13, 2)
	write("on", 1, 2, 1)
	s.ask("all of partition 0", fetchRequest(11, fetchFrom{topic, 0, 0}))

	write = on(1, producerID(t, s.conn))
	write("a producer that is not known", 0, 7, 2)
	write("again", 0, 7, 2)
	write("before that", 0, 5, 2)
	write("on", 0, 9, 1)

	write = on(2, producerID(t, s.conn))
	write("up to the largest", 0, math.MaxInt32-1, 2)
	write("from zero", 0, 0, 1)
	write("the largest again", 0, math.MaxInt32-1, 2)
	write("zero again", 0, 0, 1)
	write("on", 0, 1, 1)
	write = on(2, producerID(t, s.conn))
	write("wraps within", 0, math.MaxInt32-1, 3)
	write("again", 0, math.MaxInt32-1, 3)
	write("zero is within it", 0, 0, 1)
	write("on", 0, 1, 1)
	s.ask("all of partition 2", fetchRequest(11, fetchFrom{topic, 2, 0}))

	// The id is each partition's own: sequences in one say nothing of another.
	write = on(3, id)
	write("the first producer elsewhere", 0, 100, 1)
	write("again", 0, 100, 1)
	s.ask("again, by topic id", produceRequest(13, topic, 3, sequenced(id, 0, 100, 1)))
	s.compare("sequences")
}

// testSequencesBeside: what a producer's sequences do not depend on, and what depends on them.
func testSequencesBeside(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic, stamped := s.create("topic", 3, "max.message.bytes=1000"), s.create("stamped", 1, "message.timestamp.type=LogAppendTime")
	first, second := producerID(t, s.conn), producerID(t, s.conn)
	write := func(step string, batch []byte) { t.Helper(); s.ask(step, produceRequest(9, topic, 0, batch)) }
	write("the first producer", sequenced(first, 0, 0, 2))
	write("nobody", clients.AppendBatch(nil, clients.NewBatch(plainRecords(2)...)))
	write("the second producer", sequenced(second, 0, 0, 1))
	write("the first goes on", sequenced(first, 0, 2, 2))
	write("the second again", sequenced(second, 0, 0, 1))
	large := clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: make([]byte, 2000)})
	large.ProducerID, large.ProducerEpoch, large.FirstSequence = first, 0, 4
	write("too large a batch", clients.AppendBatch(nil, large))
	broken := sequenced(first, 0, 4, 1)
	broken[len(broken)-1] ^= 1
	write("a broken one", broken)
	write("the same sequence, now well", sequenced(first, 0, 4, 1))
	other := clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte("something else")})
	other.ProducerID, other.ProducerEpoch, other.FirstSequence = first, 0, 4
	write("again, with other records", clients.AppendBatch(nil, other))

	req := produceRequest(9, topic, 0, sequenced(first, 0, 4, 1))
	for partition, batch := range [][]byte{sequenced(first, 0, 0, 1), sequenced(first, 0, 9, 1)} {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: int32(partition + 1), Records: batch})
	}
	s.ask("one again, two that begin", req)
	req.Topics[0].Partitions[1].Records = sequenced(first, 0, 5, 1)
	s.ask("two again, one with a gap between", req)
	write("on", sequenced(first, 0, 5, 1))
	s.ask("all of partition 0", fetchRequest(11, fetchFrom{topic, 0, 0}))
	s.ask("delete all", deleteRecordsRequest(2, topic.name, 0, -1))
	write("again what is deleted", sequenced(first, 0, 5, 1))
	write("on", sequenced(first, 0, 6, 1))
	write("the second producer, all of whose is deleted", sequenced(second, 0, 1, 1))

	s.ask("stamped by the server", produceRequest(9, stamped, 0, sequenced(first, 0, 0, 2)))
	s.ask("again", produceRequest(9, stamped, 0, sequenced(first, 0, 0, 2)))
	s.compare("sequences-beside")
}

// testSequencesOverRestarts: what is known of a producer survives the gateway, however it ends: it is read from the ids of
// the messages. A broker knows the last batch alone then, of producers whose records are from today: it is not compared.
func testSequencesOverRestarts(t *testing.T, target *harness.Target) {
	program := target.Gateway
	if !target.Durable || program == nil {
		t.Skip("keeps nothing over a restart, or is not ours to restart")
	}
	conn := dialRaw(t, target)
	topic, id := createTopic(t, conn, topicName(t), 1), producerID(t, conn)
	write := func(first int32, n int) (code int16, offset int64) {
		t.Helper()
		await(t, func() bool { // somebody leads the partition again
			p := askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, 0, sequenced(id, 0, first, n))).Topics[0].Partitions[0]
			code, offset = p.ErrorCode, p.BaseOffset
			return code != kerr.NotLeaderForPartition.Code && code != kerr.UnknownTopicOrPartition.Code
		})
		return code, offset
	}
	expect := func(step string, first int32, n int, want int16, at int64) {
		t.Helper()
		if code, offset := write(first, n); code != want || offset != at {
			t.Errorf("%s: sequence %d is answered with the code %d and the offset %d, want %d and %d", step, first, code, offset, want, at)
		}
	}
	next := int32(0)
	for _, end := range []struct {
		name string
		do   func()
	}{
		{"stopped", func() {
			if err := program.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"killed", program.Kill},
	} {
		for range 6 {
			expect("written", next, 2, 0, int64(next))
			next += 2
		}
		end.do()
		startAgain(t, program)
		conn = dialRaw(t, target)
		expect(end.name+", a gap", next+1, 1, kerr.OutOfOrderSequenceNumber.Code, -1)
		for first := next - 10; first < next; first += 2 {
			expect(end.name+", again", first, 2, 0, int64(first))
		}
		expect(end.name+", the last with another length", next-2, 3, kerr.OutOfOrderSequenceNumber.Code, -1)
	}
	expect("on", next, 1, 0, int64(next))
	records, err := clients.Franz{Addr: target.Kafka}.Consume(within(t, limit), topic.name, 0, 0, int(next)+1)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if string(r.Value) != fmt.Sprint(i) {
			t.Fatalf("the record at %d is %q", i, r.Value)
		}
	}
}

// testReordered sends what five batches under way look like after a reconnect: all in one write, the middle one missing,
// then again from it on.
func testReordered(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 1)
	id := producerID(t, s.conn)
	round := func(step string, firsts ...int32) {
		t.Helper()
		reqs := make([]kmsg.Request, len(firsts))
		for i, first := range firsts {
			reqs[i] = produceRequest(9, topic, 0, sequenced(id, 0, first, 2))
		}
		if err := s.conn.Send(within(t, limit), reqs...); err != nil {
			t.Fatal(err)
		}
		for i, req := range reqs {
			resp, err := s.conn.Receive(within(t, limit))
			s.note(fmt.Sprintf("%s: sequence %d", step, firsts[i]), req, resp, err)
		}
	}
	round("two of five are missing", 0, 6, 4, 8)
	round("all of them", 0, 2, 4, 6, 8)
	round("and again", 0, 2, 4, 6, 8)
	s.ask("all that is there", fetchRequest(11, fetchFrom{topic, 0, 0}))
	s.compare("reordered")
}

// testProducers describes the producers of partitions (KIP-664).
func testProducers(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2)
	first, second := producerID(t, s.conn), producerID(t, s.conn)
	describe := func(step string) {
		t.Helper()
		req := kmsg.NewPtrDescribeProducersRequest()
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic.name, Partitions: []int32{0, 1, 9}}, {Topic: "missing", Partitions: []int32{0}}}
		s.ask(step, req)
	}
	s.names[fmt.Sprintf("ProducerID=%d", first)], s.names[fmt.Sprintf("ProducerID=%d", second)] = "ProducerID=FIRST", "ProducerID=SECOND"
	describe("before anything is written")
	for _, batch := range [][]byte{sequenced(first, 0, 0, 3), sequenced(second, 0, 40, 1), sequenced(first, 0, 3, 2), sequenced(second, 2, 0, 1)} {
		s.ask("write", produceRequest(9, topic, 0, batch))
	}
	s.ask("write without a producer", produceRequest(9, topic, 1, clients.AppendBatch(nil, clients.NewBatch(plainRecords(1)...))))
	describe("after that")
	s.compare("producers")
}
