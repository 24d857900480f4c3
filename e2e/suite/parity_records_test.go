// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// recordScripts are about what is written, and by whom.
func recordScripts() []script {
	return []script{
		{
			key: kmsg.Produce.Int16(), run: (*parity).produce,
			asked: slices.Concat(
				always(nil, kerr.UnknownTopicOrPartition, kerr.CorruptMessage, kerr.InvalidRequiredAcks, kerr.InvalidTimestamp,
					kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidRecord, kerr.MessageTooLarge, kerr.InvalidProducerIDMapping),
				before(7, kerr.UnsupportedCompressionType), since(13, kerr.UnknownTopicID)),
		},
		{
			key: kmsg.Fetch.Int16(), run: (*parity).fetch, also: []int16{7, 9, 13, 15},
			asked: slices.Concat(
				always(nil, kerr.OffsetOutOfRange, kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition),
				since(7, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch),
				since(9, kerr.UnknownLeaderEpoch), since(13, kerr.UnknownTopicID)),
		},
		{
			key: kmsg.InitProducerID.Int16(), run: (*parity).initProducerID, also: []int16{3, 4},
			asked: slices.Concat(always(nil, kerr.InvalidRequest)),
		},
		{
			key: kmsg.DescribeProducers.Int16(), run: (*parity).describeProducers,
			asked: always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidTopicException),
		},
	}
}

// one is a batch of one record.
func one(value string) []byte {
	return clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte(value)}))
}

// produce leaves out what TestSuite's PB-29-every-version asks.
func (p *parity) produce() {
	if p.first {
		p.small = p.create("small", 1, "max.message.bytes=1000", "retention.ms=-1")
	}
	write := func(batches ...[]byte) *kmsg.ProduceRequest {
		req := produceRequest(p.version, p.topic, 0, batches[0])
		for i, batch := range batches[1:] {
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: int32(i + 1), Records: batch})
		}
		return req
	}
	p.step("to both partitions", write(one("a"), one("b")))
	p.step("to one that is there and one that is not", write(one("a"), one("b"), one("c")))
	p.step("to a partition below zero", produceRequest(p.version, p.topic, -1, one("a")))
	broken := one("a")
	broken[len(broken)-1] ^= 1
	p.step("a wrong CRC beside a right one", write(broken, one("b")))
	p.step("no bytes", write([]byte{}))
	p.step("too large", produceRequest(p.version, p.small, 0, one(strings.Repeat("v", 2000))))
	ahead := clients.Record{Timestamp: time.Now().Add(2 * time.Hour).UnixMilli(), Value: []byte("a")}
	p.step("two hours ahead", write(clients.AppendBatch(nil, clients.NewBatch(ahead))))
	for _, name := range []string{"a b", "", "..", p.long(250)} {
		p.step(fmt.Sprintf("to %q", name[:min(len(name), 4)]), produceRequest(p.version, topicRef{name: name}, 0, one("a")))
	}

	id := producerID(p.t, p.conn)
	p.step("a producer's first", write(sequenced(id, 1, 0, 2)))
	p.step("again", write(sequenced(id, 1, 0, 2)))
	p.step("a gap", write(sequenced(id, 1, 5, 1)))
	p.step("an older epoch", write(sequenced(id, 0, 2, 1)))
	p.step("a newer epoch, not from zero", write(sequenced(id, 2, 2, 1)))

	p.step("no topics", func() *kmsg.ProduceRequest { req := write(one("a")); req.Topics = nil; return req }())
	p.step("no partitions", func() *kmsg.ProduceRequest { req := write(one("a")); req.Topics[0].Partitions = nil; return req }())
	for _, timeout := range []int32{0, -1} {
		req := write(one("a"))
		req.TimeoutMillis, req.Acks = timeout, 1
		p.step(fmt.Sprintf("a timeout of %d", timeout), req)
	}
	acks := write(one("a"))
	acks.Acks = -2
	p.step("acks of -2", acks)
	apart := p.create("apart", 3, "retention.ms=-1") // nothing depends on what is written to it
	twice := produceRequest(p.version, apart, 0, one("a"))
	twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: 0, Records: one("b")})
	p.step("a partition twice", twice, difference{
		"", "      Partitions Partition=0 ErrorCode=42 BaseOffset=-1\n", "nothing that was sent is dropped silently",
	})
	topicTwice := write(one("a"))
	topicTwice.Topics = append(topicTwice.Topics, kmsg.ProduceRequestTopic{Topic: p.topic.name, TopicID: p.topic.id, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1, Records: one("b")}}})
	p.step("a topic twice", topicTwice)
	transactional := produceRequest(p.version, apart, 1, one("a"))
	transactional.TransactionID = named("transaction")
	p.step("a transactional id", transactional, difference{
		"ErrorCode=0 BaseOffset=0" + p.since(5, " LogStartOffset=0"), "ErrorCode=35 BaseOffset=-1", "there are no transactions",
	})
	marked := clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte("a")})
	marked.Attributes, marked.ProducerID, marked.ProducerEpoch, marked.FirstSequence = 1<<4, id, 1, 0
	transactional.Topics[0].Partitions[0].Records = clients.AppendBatch(nil, marked)
	p.step("a transactional batch of a transaction that never began", transactional, difference{"ErrorCode=49", "ErrorCode=35", "there are no transactions"})
	transactional = produceRequest(p.version, apart, 2, one("a"))
	transactional.TransactionID = named("")
	p.step("an empty transactional id", transactional)
	p.ask("all that is there", fetchRequest(11, fetchFrom{p.topic, 0, 0}, fetchFrom{p.topic, 1, 0}))
	for _, to := range []topicRef{p.topic, p.missing} {
		unanswered := produceRequest(p.version, to, 0, one("a"))
		unanswered.Acks = 0
		if err := p.conn.Send(within(p.t, limit), unanswered); err != nil {
			p.t.Fatal(err)
		}
		p.ask("what comes after one that is not answered", listOffsetsRequest(7, to.name, -1, 0, -1))
	}
}

// fetch has the records of three batches, which are told so.
func (p *parity) fetch() {
	if p.first {
		for _, value := range []string{"a", "b", "c"} { // a batch each, which a broker cuts no further
			p.quietly(produceRequest(9, p.topic, 0, one(value)))
		}
	}
	read := func(from ...fetchFrom) *kmsg.FetchRequest { return fetchRequest(p.version, from...) }
	changed := func(change func(*kmsg.FetchRequest), from ...fetchFrom) *kmsg.FetchRequest {
		req := read(from...)
		change(req)
		return req
	}
	begin, empty := fetchFrom{p.topic, 0, 0}, fetchFrom{p.topic, 1, 0}
	p.step("both partitions", read(begin, empty))
	p.step("a partition and a topic that are not there", read(begin, fetchFrom{p.topic, 7, 0}, fetchFrom{p.missing, 0, 0}))
	p.step("a partition below zero", read(fetchFrom{p.topic, -1, 0}))
	p.step("the end, beyond it, below zero", read(fetchFrom{p.topic, 0, 3}, fetchFrom{p.topic, 1, 1}))
	p.step("below zero", read(fetchFrom{p.topic, 0, -1}))
	p.step("no topics", read())
	p.step("a topic without partitions", changed(func(r *kmsg.FetchRequest) { r.Topics[0].Partitions = nil }, begin))
	p.step("a partition twice", read(begin, fetchFrom{p.topic, 0, 3}))
	p.step("a topic twice", changed(func(r *kmsg.FetchRequest) {
		r.Topics = append(r.Topics, kmsg.FetchRequestTopic{Topic: p.topic.name, TopicID: p.topic.id, Partitions: read(empty).Topics[0].Partitions})
	}, begin))
	for _, name := range []string{"a b", ""} {
		p.step(fmt.Sprintf("the topic %q", name), read(fetchFrom{topicRef{name: name}, 0, 0}))
	}
	p.step("limits of zero", changed(func(r *kmsg.FetchRequest) { r.MaxBytes, r.Topics[0].Partitions[0].PartitionMaxBytes = 0, 0 }, begin))
	p.step("limits below zero", changed(func(r *kmsg.FetchRequest) { r.MaxBytes, r.Topics[0].Partitions[0].PartitionMaxBytes = -1, -1 }, begin), difference{
		failed(-1) + noRecords, p.good() + records("a"), "a limit that makes no sense is no reason to fail",
	})
	p.step("a wait and least bytes below zero", changed(func(r *kmsg.FetchRequest) { r.MaxWaitMillis, r.MinBytes = -1, -1 }, empty))
	p.step("a wait of 10 ms for more", changed(func(r *kmsg.FetchRequest) { r.MaxWaitMillis, r.MinBytes = 10, 1<<20 }, begin))
	p.step("isolation level 2", changed(func(r *kmsg.FetchRequest) { r.IsolationLevel = 2 }, begin), p.levelRefused())
	p.step("a rack", changed(func(r *kmsg.FetchRequest) { r.Rack = "rack" }, begin))
	p.step("as replica 9", changed(func(r *kmsg.FetchRequest) {
		if r.ReplicaID = 9; p.version >= 15 { // where it has another place
			r.ReplicaState.ID = 9
		}
	}, begin), p.onlySince(16, difference{
		failed(6) + "        CurrentLeader LeaderID=1 LeaderEpoch=0\n", failed(6), "there are no followers",
	})...)
	for _, epoch := range []int32{0, 5, -2} {
		p.step(fmt.Sprintf("at leader epoch %d", epoch), fetchAtEpoch(p.version, p.topic, epoch))
	}
	p.step("last fetched epoch 0", changed(func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].LastFetchedEpoch = 0 }, begin))
	p.step("last fetched epoch 7", changed(func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].LastFetchedEpoch = 7 }, begin), p.onlySince(12, difference{
		failed(1) + noRecords, p.good() + records("a", "b", "c"), "leader epochs do not change here",
	})...)
	if p.version >= 7 {
		p.fetchSession(begin, empty)
	}
}

// How the answer to a Fetch of partition 0 is written.
const (
	noRecords      = "        Records none\n"
	noneAborted    = "        AbortedTransactions none\n"
	firstPartition = "      Partitions Partition=0 "
)

// good has records.
func (p *parity) good() string {
	return "ErrorCode=0 HighWatermark=3 LastStableOffset=3" + p.since(5, " LogStartOffset=0") + "\n"
}

func failed(code int16) string { return fmt.Sprintf("ErrorCode=%d HighWatermark=-1\n", code) }

// records have these values, from offset 0 on.
func records(values ...string) (text string) {
	for offset, value := range values {
		text += fmt.Sprintf("        Record Offset=%d Timestamp=%d Key=null Value=%q\n", offset, firstTimestamp, value)
	}
	return text
}

// levelRefused: a broker fails over an isolation level that it does not know. From version 7 on its answer has a code
// itself, from 13 on there is nothing else in it.
func (p *parity) levelRefused() difference {
	head, topic := "  ErrorCode=%d SessionID=0\n", `    Topics Topic="topic"`+"\n"
	broker := fmt.Sprintf(head, -1)
	switch {
	case p.version < 7:
		broker = fmt.Sprintf(head, 0) + topic + firstPartition + failed(-1) + noneAborted + noRecords
	case p.version < 13:
		broker += topic + firstPartition + failed(-1) + noneAborted + noRecords
	default:
		topic = `    Topics Topic="" TopicID=topic-ID` + "\n"
	}
	gateway := fmt.Sprintf(head, 0) + topic + firstPartition + p.good() + noneAborted + records("a", "b", "c")
	return difference{broker, gateway, "without transactions all levels read the same"}
}

func (p *parity) fetchSession(begin, empty fetchFrom) {
	read := func(from ...fetchFrom) *kmsg.FetchRequest { return fetchRequest(p.version, from...) }
	p.step("something forgotten outside of sessions", forget(read(begin), p.topic, 1))
	p.step("a session that is not there", sessionRequest(p.version, 7, 3, begin))
	session := sessionOf(p.step("a session", sessionRequest(p.version, 0, 0, begin, empty)))
	p.step("its wrong epoch", sessionRequest(p.version, session, 9))
	p.step("its next epoch", sessionRequest(p.version, session, 1, fetchFrom{p.topic, 0, 2}))
	if p.version >= 13 {
		p.ask("by name", sessionRequest(12, session, 2))
	} else {
		p.ask("by id", sessionRequest(13, session, 2))
	}
	p.step("its end", sessionRequest(p.version, session, -1))
}

func (p *parity) initProducerID() {
	ask := func(step string, transactional *string, timeout int32, id int64, epoch int16, accepted ...difference) {
		p.t.Helper()
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = transactional, timeout, id, epoch
		p.step(step, req, accepted...)
	}
	if p.first {
		producerID(p.t, p.conn) // a broker makes the topic of its transactions first
	}
	ask("a new one", nil, 60_000, -1, -1)
	ask("without a timeout", nil, 0, -1, -1)
	ask("a timeout below zero", nil, -1, -1, -1)
	ask("an id and an epoch that are known", nil, 60_000, 5, 0)
	ask("an id without an epoch", nil, 60_000, 5, -1)
	ask("an epoch without an id", nil, 60_000, -1, 5)
	ask("below -1", nil, 60_000, -7, -7)
	transaction := p.group("transaction")
	if p.target.Iggy == nil { // a broker looks for the transaction's coordinator, and makes its topic
		begin := kmsg.NewPtrInitProducerIDRequest()
		begin.Version, begin.TransactionalID, begin.TransactionTimeoutMillis, begin.ProducerID, begin.ProducerEpoch = 4, &transaction, 60_000, -1, -1
		await(p.t, func() bool { return p.quietly(begin).(*kmsg.InitProducerIDResponse).ErrorCode == 0 })
	}
	ask("a transaction", &transaction, 60_000, -1, -1, difference{"ErrorCode=0 ProducerID=P ProducerEpoch=1", "ErrorCode=35 ProducerEpoch=-1", "InitProducerId and Produce with a transactional id `UNSUPPORTED_VERSION`"})
	absent := difference{"ErrorCode=42 ProducerEpoch=-1", "ErrorCode=0 ProducerID=P ProducerEpoch=0", "old clients send it"}
	ask("an empty transactional id", named(""), 60_000, -1, -1, absent)
	ask("an empty transactional id, a timeout of zero", named(""), 0, -1, -1, absent)
}

func (p *parity) describeProducers() {
	describe := func(step string, topics ...kmsg.DescribeProducersRequestTopic) {
		p.t.Helper()
		req := kmsg.NewPtrDescribeProducersRequest()
		req.Topics = topics
		p.step(step, req)
	}
	of := func(topic string, partitions ...int32) kmsg.DescribeProducersRequestTopic {
		return kmsg.DescribeProducersRequestTopic{Topic: topic, Partitions: partitions}
	}
	p.quietly(produceRequest(9, p.topic, 0, sequenced(producerID(p.t, p.conn), 3, 40, 2)))
	describe("both partitions", of(p.topic.name, 0, 1))
	describe("a partition twice, and a topic twice", of(p.topic.name, 0, 0), of(p.topic.name, 1))
	describe("what is not there", of(p.topic.name, -1, 2), of(p.missing.name, 0))
	describe("bad names", of("a b", 0), of("", 0), of("..", 0))
	describe("no partitions", of(p.topic.name))
	describe("no topics")
}
