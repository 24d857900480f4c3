// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// Kafka's error codes as tests name them.
const (
	codeOffsetOutOfRange   = 1
	codeCorrupt            = 2
	codeUnknownTopic       = 3
	codeNotLeader          = 6
	codeTimedOut           = 7
	codeTooLarge           = 10
	codeLoading            = 14
	codeNotAvailable       = 15
	codeNotCoordinator     = 16
	codeInvalidTopic       = 17
	codeInvalidAcks        = 21
	codeUnknownMember      = 25
	codeRebalance          = 27
	codeInvalidTimestamp   = 32
	codeUnsupportedVersion = 35
	codeInvalidRequest     = 42
	codeOutOfOrder         = 45
	codeOldEpoch           = 47
	codeGroupNotFound      = 69
	codeUnsupportedCodec   = 76
	codeMemberIDRequired   = 79
	codeGroupFull          = 81
	codeFencedInstance     = 82
	codeInvalidRecord      = 87
	codeUnknownTopicID     = 100
)

// refusalCase is a Produce that nothing may come of.
type refusalCase struct {
	name      string
	version   int16 // 0: produceVersion
	partition int32
	topic     string // "": the topic that exists
	records   []byte
	change    func(*kmsg.ProduceRequest)
	code      int16
	looked    bool // Kafka answers the log start once it has looked into the batch
}

func transactionalID(id string) func(*kmsg.ProduceRequest) {
	return func(req *kmsg.ProduceRequest) { req.TransactionID = &id }
}

func acks(n int16) func(*kmsg.ProduceRequest) {
	return func(req *kmsg.ProduceRequest) { req.Acks = n }
}

func setInt32(at int, v int32) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

func attributes(bits byte) func([]byte) {
	return func(b []byte) { b[atAttributes+1] |= bits }
}

// Structural faults carry no texts; nothing of a refused batch is written.
func TestProduceRefusals(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("before"))
	two := batch("one", "two")
	second := recordcodec.HeaderSize + len(two[recordcodec.HeaderSize:])/2 // where the second record begins: both have one size
	now := time.Now().UnixMilli()
	stamp := func(ts int64) []byte { return stamped(now, ts) }
	zstd := batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: now, value: []byte("v")})

	cases := []refusalCase{
		{name: "acks 2", records: two, change: acks(2), code: codeInvalidAcks},
		{name: "acks -2", records: two, change: acks(-2), code: codeInvalidAcks},
		{name: "acks 2, missing topic", topic: "no-such-topic", records: two, change: acks(2), code: codeUnknownTopic},
		{name: "missing topic", topic: "no-such-topic", records: two, code: codeUnknownTopic},
		{name: "partition above", partition: 1, records: two, code: codeUnknownTopic},
		{name: "partition below 0", partition: -1, records: two, code: codeUnknownTopic},
		{name: "bad topic name", topic: "a b", records: two, code: codeUnknownTopic},
		{name: "empty topic name", topic: "", records: two, code: codeUnknownTopic, change: func(req *kmsg.ProduceRequest) { req.Topics[0].Topic = "" }},
		{name: "internal topic", topic: internalTopic, records: two, code: codeInvalidTopic},

		{name: "transactional id", records: two, change: transactionalID("tx"), code: codeUnsupportedVersion},
		{name: "transactional batch", records: batchOf(batchForm{transactional: true}, record{value: []byte("v")}), code: codeUnsupportedVersion},
		{name: "control batch", records: batchOf(batchForm{control: true}, record{value: []byte("v")}), code: codeUnsupportedVersion},

		{name: "wrong CRC", records: wrongCRC(two), code: codeCorrupt},
		{name: "one bit of a record", records: flipped(two, len(two)-1), code: codeCorrupt},
		{name: "one bit of the attributes", records: flipped(two, atLastDelta), code: codeCorrupt},
		{name: "length one too small", records: changed(two, setInt32(atLength, int32(len(two)-12-1))), code: codeCorrupt},
		{name: "length 13", records: changed(two, setInt32(atLength, 13)), code: codeCorrupt},
		{name: "length 14", records: changed(two, setInt32(atLength, 14)), code: codeCorrupt},
		{name: "length below 0", records: changed(two, setInt32(atLength, -1)), code: codeCorrupt},
		{name: "zeros behind the batch", records: append(bytes.Clone(two), make([]byte, 100)...), code: codeCorrupt},
		{name: "a byte behind a wrong CRC", records: append(wrongCRC(two), 0), code: codeCorrupt},

		{name: "cut in the records", records: two[:len(two)-1], code: codeInvalidRecord},
		{name: "cut behind the header", records: two[:recordcodec.HeaderSize], code: codeInvalidRecord},
		{name: "cut in the header", records: two[:40], code: codeInvalidRecord},
		{name: "cut before the magic", records: two[:10], code: codeInvalidRecord},
		{name: "cut, and the CRC wrong", records: wrongCRC(two)[:len(two)-1], code: codeInvalidRecord},
		{name: "largest length", records: changed(two, setInt32(atLength, math.MaxInt32)), code: codeInvalidRecord},
		{name: "magic 3", records: changed(two, func(b []byte) { b[atMagic] = 3 }), code: codeCorrupt},
		{name: "magic -1", records: changed(two, func(b []byte) { b[atMagic] = 0xff }), code: codeCorrupt},

		{name: "magic 0", records: changed(two, func(b []byte) { b[atMagic] = 0 }), code: codeInvalidRecord},
		{name: "magic 1", records: messageSetV1(), code: codeInvalidRecord},
		{name: "two batches", records: append(bytes.Clone(two), two...), code: codeInvalidRecord},
		{name: "a byte behind the batch", records: append(bytes.Clone(two), 0), code: codeInvalidRecord},
		{name: "no bytes", records: []byte{}, code: codeInvalidRecord},
		{name: "null", records: nil, code: codeInvalidRecord},
		{name: "no records", records: emptyBatch(two), code: codeInvalidRecord, looked: true},
		{name: "count too high", records: changed(two, setInt32(atCount, 3)), code: codeInvalidRecord, looked: true},
		{name: "count too low", records: changed(two, setInt32(atCount, 1)), code: codeInvalidRecord, looked: true},
		{name: "count 0 with records", records: changed(two, setInt32(atCount, 0)), code: codeInvalidRecord, looked: true},
		{name: "count below 0", records: changed(two, setInt32(atCount, -1)), code: codeInvalidRecord, looked: true},
		{name: "last offset delta wrong", records: changed(two, setInt32(atLastDelta, 5)), code: codeInvalidRecord, looked: true},
		{name: "base offset not 0", records: changed(two, func(b []byte) { b[atBaseOffset+7] = 1 }), code: codeInvalidRecord, looked: true},
		{name: "offsets with a hole", records: changed(two, func(b []byte) { b[second+3] = 2 * 2; b[atLastDelta+3] = 2 }), code: codeInvalidRecord, looked: true},
		{name: "a record longer than the batch", records: changed(two, func(b []byte) { b[second] = 126 }), code: codeInvalidRecord, looked: true},
		{name: "a record of length 0", records: changed(two, func(b []byte) { b[second] = 0 }), code: codeInvalidRecord, looked: true},
		{name: "producer without sequence", records: batchOf(batchForm{producer: &producer{id: 7, sequence: -1}}, record{value: []byte("v")}), code: codeInvalidRecord, looked: true},

		{name: "timestamp below -1", records: stamp(-2), code: codeInvalidTimestamp, looked: true},
		{name: "smallest timestamp", records: stamp(math.MinInt64 / 2), code: codeInvalidTimestamp, looked: true},
		{name: "timestamp 2 h ahead", records: stamp(now + 2*time.Hour.Milliseconds()), code: codeInvalidTimestamp, looked: true},
		{name: "largest timestamp", records: stamped(math.MaxInt64), code: codeInvalidTimestamp, looked: true},

		{name: "zstd before v7", version: 6, records: zstd, code: codeUnsupportedCodec},
		{name: "codec 5", records: changed(two, attributes(5)), code: codeUnsupportedCodec},
		{name: "codec 7", records: changed(two, attributes(7)), code: codeUnsupportedCodec},

		{name: "one byte above max.message.bytes", records: sized(t, maxMessageBytes+1), code: codeTooLarge},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			refused(t, c, topic, tc)
		})
	}
	if got := values(c.fetchAll(topic, 0)); len(got) != 1 {
		t.Errorf("written: %q", got)
	}
}

func refused(t *testing.T, c *client, topic string, tc refusalCase) {
	t.Helper()
	name := topic
	if tc.topic != "" {
		name = tc.topic
	}
	req := produceRequest(part{topic: name, partition: tc.partition, records: tc.records})
	if tc.version != 0 {
		req.Version = tc.version
	}
	if tc.change != nil {
		tc.change(req)
	}
	got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	want := fmt.Sprintf("error %d, base -1, time -1, log start %d, partition %d", tc.code, map[bool]int{true: 0, false: -1}[tc.looked], tc.partition)
	if have := fmt.Sprintf("error %d, base %d, time %d, log start %d, partition %d",
		got.ErrorCode, got.BaseOffset, got.LogAppendTime, got.LogStartOffset, got.Partition); have != want {
		t.Errorf("got %s, want %s", have, want)
	}
	if texts := got.ErrorMessage != nil || len(got.ErrorRecords) > 0; texts != (tc.code == codeInvalidTimestamp) {
		t.Errorf("message %v, records %v", got.ErrorMessage, got.ErrorRecords)
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// emptyBatch has a header alone, as compaction leaves behind.
func emptyBatch(b []byte) []byte {
	return changed(b[:recordcodec.HeaderSize], func(b []byte) {
		setInt32(atCount, 0)(b)
		setInt32(atLength, recordcodec.HeaderSize-12)(b)
		setInt32(atLastDelta, -1)(b)
	})
}

// maxMessageBytes is Kafka's default for max.message.bytes.
const maxMessageBytes = 1048588

// sized builds a batch of one record that has size bytes in all.
func sized(t *testing.T, size int) []byte {
	t.Helper()
	for n := size - recordcodec.HeaderSize - 20; n < size; n++ {
		if b := large(n); len(b) == size {
			return b
		}
	}
	t.Fatalf("no batch has %d bytes", size)
	return nil
}

// The largest batch that a topic takes by default is taken, with one of another codec above it before compression.
func TestProduceLargestBatch(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	b := sized(t, maxMessageBytes)
	c.produce(topic, 0, b)
	c.produce(topic, 0, batchOf(batchForm{codec: recordcodec.CodecZstd}, record{value: bytes.Repeat([]byte("x"), 4<<20)}))
	sizes := []int{len(records(t, b)[0].value), 4 << 20}
	for i, r := range c.fetchAll(topic, 0) {
		if len(r.value) != sizes[i] {
			t.Errorf("record %d has %d bytes, want %d", i, len(r.value), sizes[i])
		}
	}
}

// Records too far in the future are named, each with Kafka's text and no more than 1,000 of them; versions before v8
// have no room for it.
func TestProduceInvalidTimestampTexts(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	now := time.Now().UnixMilli()
	ahead := now + 2*time.Hour.Milliseconds()
	req := produceRequest(part{topic: topic, records: stamped(now, ahead, now, ahead+1)})
	got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	if got.ErrorCode != codeInvalidTimestamp || got.ErrorMessage == nil ||
		*got.ErrorMessage != "One or more records have been rejected due to invalid timestamp" {
		t.Errorf("error %d, %v", got.ErrorCode, got.ErrorMessage)
	}
	var texts []string
	for _, r := range got.ErrorRecords {
		texts = append(texts, fmt.Sprintf("%d: %s", r.RelativeOffset, *r.ErrorMessage))
	}
	want := regexp.MustCompile(fmt.Sprintf(`^1: Timestamp %d of message with offset 1 is out of range. The timestamp should be within \[-\d{19}, \d{13}\]
3: Timestamp %d of message with offset 3 is out of range. The timestamp should be within \[-\d{19}, \d{13}\]$`, ahead, ahead+1))
	if !want.MatchString(strings.Join(texts, "\n")) {
		t.Errorf("records: %q", texts)
	}

	many := make([]int64, 2500)
	for i := range many {
		many[i] = ahead
	}
	req = produceRequest(part{topic: topic, records: stamped(many...)})
	if got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]; len(got.ErrorRecords) != 1000 {
		t.Errorf("%d records named", len(got.ErrorRecords))
	}
	req.Version = 7
	if got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]; got.ErrorCode != codeInvalidTimestamp {
		t.Errorf("v7: error %d", got.ErrorCode)
	}

	req = produceRequest(part{topic: topic, records: stamped(now, -5)})
	if got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]; len(got.ErrorRecords) != 1 ||
		got.ErrorRecords[0].RelativeOffset != 1 || got.ErrorMessage == nil {
		t.Errorf("below -1: records %v, message %v", got.ErrorRecords, got.ErrorMessage)
	}
}

// A timestamp within the hour ahead is fine.
func TestProduceTimestampAhead(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	ahead := time.Now().UnixMilli() + 59*time.Minute.Milliseconds()
	c.produce(topic, 0, stamped(ahead))
	if got := c.fetchAll(topic, 0)[0].timestamp; got != ahead {
		t.Errorf("timestamp %d, want %d", got, ahead)
	}
}

// An empty transactional id reads as absent.
func TestProduceEmptyTransactionalID(t *testing.T) {
	gw := shared(t)
	req := produceRequest(part{topic: gw.newTopic(t, 1), records: batch("v")})
	transactionalID("")(req)
	if code := ask[*kmsg.ProduceResponse](gw.dial(t), req).Topics[0].Partitions[0].ErrorCode; code != 0 {
		t.Errorf("error %d", code)
	}
}
