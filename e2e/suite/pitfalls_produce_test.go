// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testProducePitfalls is about what is written.
func testProducePitfalls(t *testing.T, target *harness.Target) {
	each(t, target, []scenario{
		{"PB-28-crc", testBrokenBatches},
		{"PB-29-one-batch", testBatchShapes},
		{"PB-29-every-version", testProduceVersions},
		{"PB-31-log-append-time", testLogAppendTime},
		{"PB-32-odd-timestamps", testOddTimestamps},
		{"PB-33-null-is-not-empty", testNullIsNotEmpty},
		{"PB-34-lz4-frames", testLZ4Frames},
		{"PB-34-lz4-served", testLZ4Served},
		{"PB-38-sequences", testSequences},
		{"PB-38-sequences-beside", testSequencesBeside},
		{"PB-38-reordered", testReordered},
		{"PB-38-producers", testProducers},
		{"PB-40-too-large-or-keyless", testTooLargeOrKeyless},
	})
}

// unknownMagic: a broker fails over a batch of another magic when it looks for transactions, before it takes partitions
// one by one.
var unknownMagic = difference{
	` ErrorCode=2 BaseOffset=-1 ErrorMessage="Invalid magic found in record: 3"` + "\n", " ErrorCode=2 BaseOffset=-1\n",
	"each partition answers for itself",
}

// testBrokenBatches flips a bit in each field of a batch's header, and checks afterwards that nothing but what was
// accepted is there: two clients check the CRCs too.
func testBrokenBatches(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 1)
	records := plainRecords(2)
	good := clients.AppendBatch(nil, clients.NewBatch(records...))
	for _, field := range []struct {
		name string
		at   int // the byte whose lowest bit is flipped
	}{
		{"base offset", clients.BatchBaseOffset + 7},
		{"length", clients.BatchLength + 3},
		{"leader epoch", clients.BatchLeaderEpoch + 3},
		{"magic", clients.BatchMagic},
		{"CRC", clients.BatchCRC + 3},
		{"attributes", clients.BatchAttributes + 1},
		{"last offset delta", clients.BatchLastOffsetDelta + 3},
		{"first timestamp", clients.BatchFirstTimestamp + 7},
		{"max timestamp", clients.BatchMaxTimestamp + 7},
		{"producer id", clients.BatchProducerID + 7},
		{"producer epoch", clients.BatchProducerEpoch + 1},
		{"first sequence", clients.BatchFirstSequence + 3},
		{"number of records", clients.BatchNumRecords + 3},
		{"records", clients.BatchRecords + 3},
	} {
		broken := slices.Clone(good)
		broken[field.at] ^= 1
		var accepted []difference
		if field.at == clients.BatchMagic {
			accepted = append(accepted, unknownMagic)
		}
		s.ask("a bit of the "+field.name, produceRequest(9, topic, 0, broken), accepted...)
	}
	s.ask("none", produceRequest(9, topic, 0, good))
	s.ask("all that is there", fetchRequest(11, fetchFrom{topic, 0, 0}))
	s.compare("broken-batches")
	want := append(at(0, records), at(2, records)...) // the leader's epoch is outside of the CRC, and not the producer's
	expectRead(t, clients.Franz{Addr: target.Kafka}, topic.name, 0, want)
	expectRead(t, clients.Sarama{Addr: target.Kafka}, topic.name, 0, want)
}

// testBatchShapes sends what is no single, whole batch. It is refused, and nothing of it is there; partitions beside it in
// the request are written.
func testBatchShapes(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 5)
	records := plainRecords(2)
	batch := func() kmsg.RecordBatch { return clients.NewBatch(records...) }
	good := clients.AppendBatch(nil, batch())
	changed := func(change func(b *kmsg.RecordBatch)) []byte {
		b := batch()
		change(&b)
		return clients.AppendBatch(nil, b)
	}
	nothing := clients.NewBatch()
	for _, shape := range []struct {
		name  string
		bytes []byte
	}{
		{"two batches", slices.Concat(good, good)},
		{"many bytes after the batch", append(slices.Clone(good), make([]byte, 100)...)},
		{"a batch cut short", good[:len(good)-1]},
		{"a header alone", good[:clients.BatchRecords]},
		{"half a header", good[:20]},
		{"no bytes", []byte{}},
		{"an empty batch", clients.AppendBatch(nil, nothing)},
		{"one record more is declared", changed(func(b *kmsg.RecordBatch) { b.NumRecords++ })},
		{"one record less is declared", changed(func(b *kmsg.RecordBatch) { b.NumRecords-- })},
		{"one record more, and the last offset with it", changed(func(b *kmsg.RecordBatch) { b.NumRecords++; b.LastOffsetDelta++ })},
		{"one record less, and the last offset with it", changed(func(b *kmsg.RecordBatch) { b.NumRecords--; b.LastOffsetDelta-- })},
		{"no records are declared", changed(func(b *kmsg.RecordBatch) { b.NumRecords = 0 })},
		{"-1 records are declared", changed(func(b *kmsg.RecordBatch) { b.NumRecords = -1 })},
		{"bytes after the records", changed(func(b *kmsg.RecordBatch) { b.Records = append(b.Records, 0, 0) })},
		{"the last offset too far", changed(func(b *kmsg.RecordBatch) { b.LastOffsetDelta++ })},
		{"a base offset", changed(func(b *kmsg.RecordBatch) { b.FirstOffset = 7 })},
		{"a sequence but no producer", changed(func(b *kmsg.RecordBatch) { b.FirstSequence = 0 })},
		{"a producer but no sequence", changed(func(b *kmsg.RecordBatch) { b.ProducerID, b.ProducerEpoch = 900_001, 0 })},
		{"magic 1", messageSet(1)},
		{"magic 0", messageSet(0)},
	} {
		req := produceRequest(9, topic, 0, shape.bytes)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: 1, Records: good})
		s.ask(shape.name+", and a good one for partition 1", req)
	}
	s.ask("all of partition 0", fetchRequest(11, fetchFrom{topic, 0, 0}))
	s.ask("a control batch", produceRequest(9, topic, 0, changed(func(b *kmsg.RecordBatch) { b.Attributes = 0x20 })), difference{
		"ErrorCode=87 BaseOffset=-1 LogStartOffset=0", "ErrorCode=35 BaseOffset=-1", "there are no transactions",
	})
	s.ask("a byte after the batch", produceRequest(9, topic, 2, append(slices.Clone(good), 0)), difference{
		"ErrorCode=0 BaseOffset=0 LogStartOffset=0", "ErrorCode=87 BaseOffset=-1", "nothing that was sent is dropped silently",
	})
	req := produceRequest(9, topic, 3, changed(func(b *kmsg.RecordBatch) { b.Magic = 3 }))
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: 4, Records: good})
	s.ask("magic 3, and a good one for partition 4", req, unknownMagic, difference{
		`Partition=4 ErrorCode=2 BaseOffset=-1 ErrorMessage="Invalid magic found in record: 3"`, "Partition=4 ErrorCode=0 BaseOffset=0 LogStartOffset=0",
		"each partition answers for itself",
	})
	s.compare("batch-shapes")
}

// testProduceVersions asks for the same at every version: each has the fields of its own.
func testProduceVersions(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic, compacted := s.create("topic", 1), s.create("compacted", 1, "cleanup.policy=compact")
	missing := topicRef{name: "missing", id: [16]byte{1, 2, 3}}
	s.alias(missing, "missing")
	good := clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte("v")}))
	zstd := clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte("v")})
	zstd.Attributes = 4
	for version := int16(3); version <= 13; version++ {
		s.ask("a good one", produceRequest(version, topic, 0, good))
		s.ask("no such topic", produceRequest(version, missing, 0, good))
		s.ask("no such partition", produceRequest(version, topic, 1, good))
		s.ask("a key is missing", produceRequest(version, compacted, 0, good))
		acks := produceRequest(version, topic, 0, good)
		acks.Acks = 2
		s.ask("acks of two", acks)
		acks.Acks = 1
		s.ask("acks of the leader", acks)
		if version < 7 { // that have no zstd; it is looked at before the records are
			s.ask("zstd", produceRequest(version, topic, 0, clients.AppendBatch(nil, zstd)))
		}
	}
	s.compare("produce-versions")
}

// messageSet is a message set as they were before record batches, of magic 0 or 1: one message, a null key, the value v.
func messageSet(magic byte) []byte {
	message := []byte{magic, 0} // attributes
	if magic == 1 {
		message = binary.BigEndian.AppendUint64(message, firstTimestamp)
	}
	message = append(message, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 'v')
	set := make([]byte, 8) // offset
	set = binary.BigEndian.AppendUint32(set, uint32(4+len(message)))
	set = binary.BigEndian.AppendUint32(set, crc32.ChecksumIEEE(message))
	return append(set, message...)
}

// testLogAppendTime: the server's time is answered, is in what is read, and is found (KIP-32).
func testLogAppendTime(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 1, "message.timestamp.type=LogAppendTime")
	records := plainRecords(3) // with timestamps of their own, years ago
	answer := s.ask("write", produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(records...))))
	written, ok := answer.(*kmsg.ProduceResponse)
	if !ok {
		t.Fatal("not answered")
	}
	stamp := written.Topics[0].Partitions[0].LogAppendTime
	s.ask("all that is there", fetchRequest(11, fetchFrom{topic, 0, 0}))
	s.ask("the largest timestamp", listOffsetsRequest(7, topic.name, -3, 0, -1))
	s.ask("a time before all", listOffsetsRequest(7, topic.name, 1, 0, -1))
	s.ask("the time that was answered", listOffsetsRequest(7, topic.name, stamp, 0, -1))
	s.ask("a time after all", listOffsetsRequest(7, topic.name, stamp+3_600_000, 0, -1))
	s.compare("log-append-time")

	fetched := askRaw[*kmsg.FetchResponse](t, s.conn, fetchRequest(11, fetchFrom{topic, 0, 0})).Topics[0].Partitions[0].RecordBatches
	batches, _, err := clients.ReadBatches(fetched)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if b.MaxTimestamp != stamp || b.Attributes&8 == 0 {
			t.Errorf("a batch has the attributes %x and the timestamp %d, the producer was told %d", b.Attributes, b.MaxTimestamp, stamp)
		}
	}
	client := franz(t, target.Kafka, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic.name: {0: kgo.NewOffset().At(0)}}))
	fetches := client.PollRecords(within(t, limit), len(records))
	if err := fetches.Err(); err != nil || fetches.NumRecords() != len(records) {
		t.Fatalf("franz-go reads %d records: %v", fetches.NumRecords(), err)
	}
	for r := range fetches.RecordsAll() {
		if r.Timestamp.UnixMilli() != stamp || r.Attrs.TimestampType() != 1 {
			t.Errorf("franz-go reads the timestamp %d of type %d, the producer was told %d", r.Timestamp.UnixMilli(), r.Attrs.TimestampType(), stamp)
		}
	}
	t.Run("kcat", func(t *testing.T) {
		requireTool(t, "kcat")
		out := (kcat{target.Kafka}).run(t, "", "-C", "-t", topic.name, "-p", "0", "-o", "beginning", "-e", "-J")
		if n := strings.Count(out, fmt.Sprintf(`"tstype":"logappend","ts":%d,`, stamp)); n != len(records) {
			t.Errorf("%d records with the time %d of the server in\n%s", n, stamp, out)
		}
	})
}

// testOddTimestamps: -1 is no time, 0 is one.
func testOddTimestamps(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2, "retention.ms=-1", "segment.ms=9223372036854775807") // a fetch reads one segment of a broker
	stamped := func(timestamps ...int64) []byte {
		var records []clients.Record
		for _, ms := range timestamps {
			records = append(records, clients.Record{Timestamp: ms, Value: fmt.Append(nil, ms)})
		}
		return clients.AppendBatch(nil, clients.NewBatch(records...))
	}
	s.ask("-1, 0 and 1", produceRequest(9, topic, 0, stamped(-1, 0, 1)))
	s.ask("now, and 30 years ago", produceRequest(9, topic, 0, stamped(firstTimestamp, firstTimestamp-946_080_000_000)))
	s.ask("-1 alone", produceRequest(9, topic, 0, stamped(-1)))
	s.ask("0 alone", produceRequest(9, topic, 0, stamped(0)))
	s.ask("all of them", fetchRequest(11, fetchFrom{topic, 0, 0}))
	s.ask("two hours ahead", produceRequest(9, topic, 1, stamped(time.Now().Add(2*time.Hour).UnixMilli())))
	s.compare("odd-timestamps")
}

// testNullIsNotEmpty: keys, values and headers' values are null, empty or neither; names of headers repeat.
func testNullIsNotEmpty(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 1)
	records := edgeRecords()
	for i, r := range records {
		batch := clients.AppendBatch(nil, clients.NewBatch(r))
		if p := askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, 0, batch)).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i) {
			t.Fatalf("record %d is answered with the code %d and the offset %d", i, p.ErrorCode, p.BaseOffset)
		}
	}
	got := recordsOf(t, askRaw[*kmsg.FetchResponse](t, conn, fetchRequest(11, fetchFrom{topic, 0, 0})).Topics[0].Partitions[0].RecordBatches)
	if diff := cmp.Diff(at(0, records), got, wholeBytes()); diff != "" {
		t.Errorf("read otherwise than written (-written +read):\n%s", diff)
	}
}

// testLZ4Frames writes batches whose frames the lz4 program has made of the records' bytes, in ways that producers do and
// a broker does not: blocks that refer to the ones before (-BD), blocks of up to 4 MiB (-B7), a checksum of the content, which
// is the program's default, its size (--content-size), all of that and checksums of blocks (-BX).
func testLZ4Frames(t *testing.T, target *harness.Target) {
	frames, err := filepath.Glob("testdata/lz4/*.lz4")
	if err != nil || len(frames) != 5 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 1)
	records := lz4Records()
	var want []clients.Record
	for _, name := range frames {
		frame, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		batch := clients.NewBatch(records...)
		batch.Records, batch.Attributes = frame, 3
		p := askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, 0, clients.AppendBatch(nil, batch))).Topics[0].Partitions[0]
		if strings.Contains(name, "linked") && target.Iggy == nil {
			// Kafka's reader knows no blocks that refer to others; the gateway takes what is a valid frame.
			expectCode(t, p.ErrorCode, kerr.UnknownServerError)
			continue
		}
		if p.ErrorCode != 0 || p.BaseOffset != int64(len(want)) {
			t.Errorf("%s: code %d, offset %d", name, p.ErrorCode, p.BaseOffset)
			continue
		}
		want = append(want, at(int64(len(want)), records)...)
	}
	for _, reader := range clients.All(target.Kafka) {
		expectRead(t, reader, topic.name, 0, want)
	}
}

// lz4Records are what the frames hold, 100 kB: more than one block of 64 KiB.
func lz4Records() []clients.Record {
	records := make([]clients.Record, 200)
	for i := range records {
		records[i] = clients.Record{Timestamp: firstTimestamp + int64(i), Value: bytes.Repeat(fmt.Appendf(nil, "%03d ", i), 125)}
	}
	return records
}

// testLZ4Served: what is compressed for consumers is a frame that all of them read, independent blocks of 64 KiB.
func testLZ4Served(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 1, "compression.type=lz4")
	records := plainRecords(500)
	batch := clients.AppendBatch(nil, clients.NewBatch(records...))
	if p := askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, 0, batch)).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Fatalf("code %d", p.ErrorCode)
	}
	batches, _, err := clients.ReadBatches(askRaw[*kmsg.FetchResponse](t, conn, fetchRequest(11, fetchFrom{topic, 0, 0})).Topics[0].Partitions[0].RecordBatches)
	if err != nil || len(batches) == 0 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	for _, b := range batches {
		const independent, blocksOf64KiB = 1 << 5, 4
		if b.Attributes&7 != 3 || len(b.Records) < 6 || binary.LittleEndian.Uint32(b.Records) != 0x184D2204 {
			t.Fatalf("attributes %x, records %x...", b.Attributes, b.Records[:min(8, len(b.Records))])
		}
		if flags, size := b.Records[4], b.Records[5]>>4; flags&independent == 0 || size != blocksOf64KiB {
			t.Errorf("a frame with the flags %02x and blocks of size %d", flags, size)
		}
	}
	for _, reader := range clients.All(target.Kafka) {
		expectRead(t, reader, topic.name, 0, at(0, records))
	}
	if slowClients(target) {
		t.Run("java", func(t *testing.T) {
			out := javaTools(t, target).run(t, "", "consumer.ConsoleConsumer", "--topic", topic.name, "--from-beginning", "--max-messages", "500", "--timeout-ms", "20000")
			if n := bytes.Count([]byte(out), []byte("\n")); n != len(records) {
				t.Errorf("reads %d records, want %d", n, len(records))
			}
		})
	}
}

// testTooLargeOrKeyless: topics bound what they take.
func testTooLargeOrKeyless(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	small := s.create("small", 2, "max.message.bytes=51200")
	compacted := s.create("compacted", 1, "cleanup.policy=compact")
	sized := func(n int) []byte {
		return clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Key: []byte("k"), Value: make([]byte, n)}))
	}
	overhead := len(sized(51_100)) - 51_100
	req := produceRequest(9, small, 0, sized(2<<20))
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: 1, Records: sized(10)})
	s.ask("2 MiB where 50 KiB are the most, and a small one beside it", req)
	s.ask("the most", produceRequest(9, small, 0, sized(51_200-overhead)))
	s.ask("one byte more", produceRequest(9, small, 0, sized(51_201-overhead)))

	keyless := clients.AppendBatch(nil, clients.NewBatch(
		clients.Record{Timestamp: firstTimestamp, Key: []byte("k"), Value: []byte("0")}, clients.Record{Timestamp: firstTimestamp, Value: []byte("1")},
		clients.Record{Timestamp: firstTimestamp, Key: []byte{}, Value: []byte("2")}, clients.Record{Timestamp: firstTimestamp, Value: []byte("3")}))
	for _, version := range []int16{7, 8, 9} {
		s.ask("records without keys where they are compacted", produceRequest(version, compacted, 0, keyless))
	}
	s.ask("nothing of it is there", fetchRequest(11, fetchFrom{compacted, 0, 0}))
	s.compare("too-large-or-keyless")

	client := franz(t, target.Kafka, kgo.ProducerBatchMaxBytes(4<<20))
	if err := client.ProduceSync(within(t, limit), &kgo.Record{Topic: small.name, Value: make([]byte, 2<<20)}).FirstErr(); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("franz-go writes 2 MiB: %v", err)
	}
	t.Run("kcat", func(t *testing.T) {
		requireTool(t, "kcat")
		cmd := exec.CommandContext(within(t, limit), "kcat", "-b", target.Kafka, "-P", "-t", small.name, "-p", "0", "-X", "message.max.bytes=4194304")
		cmd.Stdin = bytes.NewReader(bytes.Repeat([]byte("v"), 2<<20))
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "Message size too large") {
			t.Errorf("kcat writes 2 MiB:\n%s", out)
		}
	})
	if err := client.ProduceSync(within(t, limit), &kgo.Record{Topic: compacted.name, Value: []byte("v")}).FirstErr(); !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("franz-go writes a record without a key: %v", err)
	}
}
