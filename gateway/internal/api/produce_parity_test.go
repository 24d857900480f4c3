// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// produceParity is the file of what a broker answered to the requests of this one.
const produceParity = "testdata/kafka-4.1.1-produce.jsonl"

// create makes a topic by request, with settings as name, value, name, value.
func (c *client) create(name string, partitions int32, settings ...string) [16]byte {
	c.Helper()
	spec := newTopicSpec(name, partitions, 1)
	for i := 0; i < len(settings); i += 2 {
		spec = withConfig(spec, settings[i], &settings[i+1])
	}
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, spec)).Topics[0]
	if got.ErrorCode != 0 {
		c.Fatalf("create %s: error %d, %s", name, got.ErrorCode, *got.ErrorMessage)
	}
	return got.TopicID
}

// sequenced builds a batch of n records of an idempotent producer, stamped 1000 ms and its sequence after 1970: so a
// duplicate shows by its timestamp which batch it is one of.
func sequenced(p producer, n int) []byte {
	rs := make([]record, n)
	for i := range rs {
		rs[i] = record{timestamp: 1000 + int64(p.sequence), value: []byte("v")}
	}
	return batchOf(batchForm{producer: &p}, rs...)
}

// Deduplication (KIP-98) as a broker does it.
func TestParitySequences(t *testing.T) {
	p := newParityOf(t, start(t, setup{}), produceParity, "sequences")
	p.client.create("sequences", 4)
	write := func(name string, partition int32, pr producer, n int) {
		t.Helper()
		p.row(name, produceRequest(part{topic: "sequences", partition: partition, records: sequenced(pr, n)}))
	}
	const id = 900_001
	for i := range int32(6) {
		p.client.produce("sequences", 0, sequenced(producer{id: id, sequence: 2 * i}, 2))
	}
	write("batches of 2 at 0, 2 … 10 are in; 10 again", 0, producer{id, 0, 10}, 2)
	write("2 again: the oldest of the last five", 0, producer{id, 0, 2}, 2)
	write("0 again: older than the last five", 0, producer{id, 0, 0}, 2)
	write("10 again but one record", 0, producer{id, 0, 10}, 1)
	write("11: overlaps the last batch", 0, producer{id, 0, 11}, 2)
	write("13: a gap", 0, producer{id, 0, 13}, 1)
	write("sequence -1", 0, producer{id, 0, -1}, 1)
	write("epoch -1, below the current 0", 0, producer{id, -1, 12}, 1)
	write("epoch 1, sequence 3", 0, producer{id, 1, 3}, 1)
	write("12: the refused ones changed nothing", 0, producer{id, 0, 12}, 1)
	write("epoch 1, sequence 0", 0, producer{id, 1, 0}, 1)
	write("epoch 1, sequence 0 again", 0, producer{id, 1, 0}, 1)
	write("epoch 0, sequence 13, after epoch 1", 0, producer{id, 0, 13}, 1)
	write("epoch 0, sequence 10: a duplicate of the older epoch", 0, producer{id, 0, 10}, 2)

	write("an id without state, epoch 5, sequence 7", 0, producer{id + 1, 5, 7}, 1)
	write("an id without state, epoch -1", 0, producer{id + 2, -1, 0}, 1)
	write("an id without state, sequence 2147483646, 2 records", 0, producer{id + 3, 0, math.MaxInt32 - 1}, 2)
	write("and then sequence 0", 0, producer{id + 3, 0, 0}, 1)
	write("an id without state, 3 records from 2147483646: wraps inside the batch", 0, producer{id + 4, 0, math.MaxInt32 - 1}, 3)
	write("the same again", 0, producer{id + 4, 0, math.MaxInt32 - 1}, 3)
	write("sequence 1 follows", 0, producer{id + 4, 0, 1}, 1)
	write("another partition has a state of its own", 1, producer{id, 0, 100}, 1)

	// What is wrong with the batch itself is said before what is wrong with its place.
	spoilt := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	p.row("a gap and a wrong CRC", produceRequest(part{topic: "sequences", partition: 1, records: spoilt(sequenced(producer{id, 0, 200}, 1))}))
	ahead := batchOf(batchForm{producer: &producer{id, 0, 200}}, record{timestamp: time.Now().Add(2 * time.Hour).UnixMilli(), value: []byte("v")})
	p.row("a gap and a timestamp too far ahead", produceRequest(part{topic: "sequences", partition: 1, records: ahead}))
	p.row("a gap beside a good batch", produceRequest(
		part{topic: "sequences", partition: 1, records: sequenced(producer{id, 0, 200}, 1)},
		part{topic: "sequences", partition: 2, records: sequenced(producer{id, 0, 200}, 1)}))

	describe := func(name, topic string, partitions ...int32) {
		t.Helper()
		p.row(name, describeProducers(part{topic: topic}, partitions...))
	}
	describe("all that wrote", "sequences", 0)
	describe("one, two, none; missing; twice", "sequences", 1, 2, 3, 9, -1, 1)
	describe("missing topic", "sequences-missing", 0, 1)
	describe("bad name", "a b", 0)
	describe("empty name", "", 0)
	describe("a name of dots", "..", 0, 1)
	describe("no partitions", "sequences")
	p.row("no topics", kmsg.NewPtrDescribeProducersRequest())
}

func describeProducers(of part, partitions ...int32) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = of.topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}

// Settings of a topic, and in which order what is wrong is said.
func TestParityTopicSettings(t *testing.T) {
	p := newParityOf(t, start(t, setup{}), produceParity, "settings")
	now := time.Now().UnixMilli()
	keyed := func(ts int64) record { return record{timestamp: ts, key: []byte("k"), value: []byte("v")} }
	keyless := func(ts int64) record { return record{timestamp: ts, value: []byte("v")} }
	ahead := now + 2*time.Hour.Milliseconds()
	plain := func(rs ...record) []byte { return batchOf(batchForm{}, rs...) }
	write := func(name, topic string, version int16, b []byte) {
		t.Helper()
		req := produceRequest(part{topic: topic, records: b})
		req.Version = version
		p.row(name, req)
	}

	// A refusal of ours tells the log start only when it is known, so each partition has something in it.
	create := func(topic string, settings ...string) {
		t.Helper()
		p.client.create(topic, 1, settings...)
		p.client.produce(topic, 0, plain(keyed(now)))
	}
	create("compacted", "cleanup.policy", "compact")
	write("compact: second of three has no key", "compacted", 9, plain(keyed(now), keyless(now), keyed(now)))
	write("compact: five without key", "compacted", 9, plain(keyless(now), keyless(now), keyless(now), keyless(now), keyless(now)))
	write("compact: no key, v7", "compacted", 7, plain(keyless(now)))
	write("compact: empty key", "compacted", 9, plain(record{timestamp: now, key: []byte{}, value: []byte("v")}))
	write("compact: no keys, and one too far ahead", "compacted", 9, plain(keyless(now), keyed(ahead), keyless(ahead)))
	write("compact: no key, zstd", "compacted", 9, batchOf(batchForm{codec: recordcodec.CodecZstd}, keyed(now), keyless(now)))
	idempotent := func(epoch int16, sequence int32, r record) []byte {
		return batchOf(batchForm{producer: &producer{900_100, epoch, sequence}}, r)
	}
	write("compact: sequence 0", "compacted", 9, idempotent(0, 0, keyed(now)))
	write("compact: no key and a gap", "compacted", 9, idempotent(0, 5, keyless(now)))
	write("compact: no key and a duplicate", "compacted", 9, idempotent(0, 0, keyless(now)))
	write("compact: epoch 1", "compacted", 9, idempotent(1, 0, keyed(now)))
	write("compact: no key and an older epoch", "compacted", 9, idempotent(0, 0, keyless(now)))

	create("both-policies", "cleanup.policy", "compact,delete")
	write("compact,delete: no key", "both-policies", 9, plain(keyless(now)))

	create("dated", "message.timestamp.before.max.ms", "100000", "message.timestamp.after.max.ms", "50000")
	write("before.max: second of three", "dated", 9, plain(keyless(now), keyless(now-600_000), keyless(-1)))
	write("after.max and before.max", "dated", 9, plain(keyless(now+600_000), keyless(now-600_000)))
	write("before.max: 0 and 1", "dated", 9, plain(keyless(0), keyless(1)))
	write("none and now", "dated", 9, plain(keyless(-1), keyless(now)))

	create("small", "max.message.bytes", "200")
	big := plain(record{timestamp: now, value: make([]byte, 300)})
	write("max.message.bytes", "small", 9, big)
	write("max.message.bytes and a wrong CRC", "small", 9, wrongCRC(big))
	write("max.message.bytes and base offset 5", "small", 9, changed(big, func(b []byte) { b[atBaseOffset+7] = 5 }))
	write("max.message.bytes and a timestamp ahead", "small", 9, plain(record{timestamp: ahead, value: make([]byte, 300)}))
	write("max.message.bytes and a gap", "small", 9, batchOf(batchForm{producer: &producer{900_101, 0, 7}}, record{timestamp: now, value: make([]byte, 300)}))
	write("compressed below max.message.bytes", "small", 9, batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: now, value: make([]byte, 3000)}))

	create("appended", "message.timestamp.type", "LogAppendTime", "message.timestamp.before.max.ms", "1000")
	write("append time: of 1970", "appended", 9, plain(keyless(5), keyless(9)))
	write("append time: two hours ahead", "appended", 9, plain(keyless(ahead)))
	write("append time: none and negative", "appended", 9, plain(keyless(-1), keyless(-5)))
	write("append time: far below 1970", "appended", 9, plain(keyless(math.MinInt64/2)))
	write("append time: marked by the producer", "appended", 9, changed(plain(keyless(7)), attributes(8)))
	write("append time: v3", "appended", 3, plain(keyless(7)))
	write("create time: marked by the producer", "dated", 9, changed(plain(keyless(now)), attributes(8)))
	write("create time: marked, no timestamp", "dated", 9, changed(plain(keyless(-1)), attributes(8)))
}

// Topics by id (KIP-516).
func TestParityProduceByID(t *testing.T) {
	p := newParityOf(t, start(t, setup{}), produceParity, "ids")
	id := p.client.create("by-id", 2)
	produce := func(ids ...[16]byte) *kmsg.ProduceRequest {
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = 13, -1, 10_000
		for _, id := range ids {
			topic := kmsg.NewProduceRequestTopic()
			topic.TopicID = id
			in := kmsg.NewProduceRequestTopicPartition()
			in.Records = stamped(1)
			topic.Partitions = append(topic.Partitions, in)
			req.Topics = append(req.Topics, topic)
		}
		return req
	}
	p.row("good", produce(id))
	p.row("zero id", produce([16]byte{}))
	p.row("good, zero and unknown", produce(id, [16]byte{}, [16]byte{1, 2, 3}))
	partition := produce(id)
	partition.Topics[0].Partitions[0].Partition = 9
	p.row("missing partition", partition)
	acks := produce(id, [16]byte{1, 2, 3})
	acks.Acks = 2
	p.row("acks=2", acks)
	named := produce([16]byte{})
	named.Topics[0].Topic = "by-id" // which v13 has no place for
	p.row("named all the same", named)

	ask[*kmsg.DeleteTopicsResponse](p.client, deleteRequest(5, "by-id"))
	p.row("deleted", produce(id))
	again := p.client.create("by-id", 2)
	p.row("the old id of one created again", produce(id))
	p.row("its new id", produce(again))
}
