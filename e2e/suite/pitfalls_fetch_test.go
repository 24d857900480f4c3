// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testFetchPitfalls is about what is read.
func testFetchPitfalls(t *testing.T, target *harness.Target) {
	each(t, target, []scenario{
		{"PB-41-no-records", testNoRecords},
		{"PB-42-larger-than-the-limits", testLargerThanLimits},
		{"PB-44-long-poll", testLongPolls},
		{"PB-45-sessions", testSessions},
		{"PB-45-sessions-by-id", testSessionsByID},
		{"PB-47-isolation", testIsolation},
		{"PB-48-out-of-range", testOutOfRange},
	})
}

// testNoRecords: no records have the length 0, and are not null, in every layout.
func testNoRecords(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 1)
	missing := topicRef{name: "missing", id: [16]byte{1, 2, 3}}
	s.alias(missing, "missing")
	for _, version := range []int16{4, 5, 7, 9, 11, 12, 13, 15, 17, 18} {
		s.ask("an idle partition, one that is not there, and a topic that is not there",
			fetchRequest(version, fetchFrom{topic, 0, 0}, fetchFrom{topic, 1, 0}, fetchFrom{missing, 0, 0}))
		s.ask("beyond the end", fetchRequest(version, fetchFrom{topic, 0, 5}))
	}
	s.compare("no-records")
}

// testLargerThanLimits: the first batch there is comes whole, however small the limits; what is beside it obeys them (KIP-74).
func testLargerThanLimits(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 3, "max.message.bytes=4194304")
	const large, small = 2 << 20, 400
	write := func(partition int32, size int) {
		t.Helper()
		batch := clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: make([]byte, size)}))
		if p := askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, partition, batch)).Topics[0].Partitions[0]; p.ErrorCode != 0 {
			t.Fatalf("code %d", p.ErrorCode)
		}
	}
	for range 2 {
		write(1, large)
		write(2, small)
		write(2, small)
	}
	for _, test := range []struct {
		name              string
		partition, answer int32 // limits
		order             []int32
		want              map[int32][]int64 // offsets
	}{
		{"the empty one first", 1 << 10, 1 << 10, []int32{0, 1, 2}, map[int32][]int64{1: {0}}},
		{"the large one first", 1 << 10, 1 << 10, []int32{1, 2}, map[int32][]int64{1: {0}}},
		{"the small one first", 1 << 10, 1 << 10, []int32{2, 1}, map[int32][]int64{2: {0, 1}}},
		{"the partition's limit alone", 1 << 10, 50 << 20, []int32{0, 1, 2}, map[int32][]int64{1: {0}, 2: {0, 1}}},
		{"no bytes at all", 0, 0, []int32{2, 1}, map[int32][]int64{2: {0}}},
		{"wide limits", 10 << 20, 50 << 20, []int32{1, 2}, map[int32][]int64{1: {0, 1}, 2: {0, 1, 2, 3}}},
	} {
		for _, version := range []int16{4, 12, 13} {
			req := fetchRequest(version)
			req.MaxBytes = test.answer
			for _, partition := range test.order {
				addPartition(req, fetchFrom{topic, partition, 0}).PartitionMaxBytes = test.partition
			}
			for _, p := range askRaw[*kmsg.FetchResponse](t, conn, req).Topics[0].Partitions {
				batches, whole, err := clients.ReadBatches(p.RecordBatches)
				if err != nil || !whole && target.Iggy != nil { // a broker sends the begin of one more
					t.Errorf("%s, v%d: the batches are whole: %t, %v", test.name, version, whole, err)
				}
				var offsets []int64
				for _, b := range batches {
					for i := range b.NumRecords {
						offsets = append(offsets, b.FirstOffset+int64(i))
					}
				}
				if !slices.Equal(offsets, test.want[p.Partition]) || p.ErrorCode != 0 {
					t.Errorf("%s, v%d: partition %d is answered with the code %d and the offsets %v, want %v", test.name, version, p.Partition, p.ErrorCode, offsets, test.want[p.Partition])
				}
			}
		}
	}
	client := franz(t, target.Kafka, kgo.FetchMaxBytes(1<<10), kgo.FetchMaxPartitionBytes(1<<10),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic.name: {1: kgo.NewOffset().At(0)}}))
	for n := 0; n < 2; {
		fetches := client.PollFetches(within(t, limit))
		if err := fetches.Err(); err != nil {
			t.Fatalf("franz-go reads %d of the large records: %v", n, err)
		}
		n += fetches.NumRecords()
	}
}

// testLongPolls measures how long a Fetch waits that asks for at least so many bytes.
func testLongPolls(t *testing.T, target *harness.Target) {
	const wait, long, slack = 500 * time.Millisecond, 20 * time.Second, 10 * time.Second // slack is for a busy machine
	topic := createTopic(t, dialRaw(t, target), topicName(t), 5)
	missing := topicRef{name: "missing"}
	record := clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte("v")}))
	for _, test := range []struct {
		name     string
		from     []fetchFrom
		minBytes int32
		wait     time.Duration // that the request allows
		writes   int32         // the partition that is written to while it waits, or -1
		want     time.Duration // from the request, or from the write
		records  int
	}{
		{"idle", []fetchFrom{{topic, 0, 0}}, 1, wait, -1, wait, 0},
		{"no bytes are asked for", []fetchFrom{{topic, 0, 0}}, 0, long, -1, 0, 0},
		{"written meanwhile", []fetchFrom{{topic, 0, 0}, {topic, 1, 0}}, 1, long, 1, 0, 1},
		{"too little is written meanwhile", []fetchFrom{{topic, 2, 0}}, 1 << 20, wait, 2, wait, 1},
		{"one that is not there among good ones", []fetchFrom{{topic, 3, 0}, {missing, 0, 0}, {topic, 7, 0}}, 1, wait, -1, wait, 0},
		{"none is there", []fetchFrom{{missing, 0, 0}, {topic, 7, 0}}, 1, long, -1, 0, 0},
		{"no partitions", nil, 1, long, -1, 0, 0},
		{"one beyond the end among good ones", []fetchFrom{{topic, 3, 0}, {topic, 4, 1}}, 1, long, -1, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := dialRaw(t, target)
			req := fetchRequest(12, test.from...)
			req.MinBytes, req.MaxWaitMillis = test.minBytes, int32(test.wait.Milliseconds())
			begin := time.Now()
			if err := conn.Send(within(t, limit), req); err != nil {
				t.Fatal(err)
			}
			if test.writes >= 0 {
				write := dialRaw(t, target)
				askRaw[*kmsg.FetchResponse](t, write, fetchRequest(12, test.from...)) // the one that waits has begun by now
				if p := askRaw[*kmsg.ProduceResponse](t, write, produceRequest(9, topic, test.writes, record)).Topics[0].Partitions[0]; p.ErrorCode != 0 {
					t.Fatalf("code %d", p.ErrorCode)
				}
				if test.want == 0 {
					begin = time.Now()
				}
			}
			resp, err := conn.Receive(within(t, limit))
			if err != nil {
				t.Fatal(err)
			}
			took, records := time.Since(begin), 0
			for _, told := range resp.(*kmsg.FetchResponse).Topics {
				for _, p := range told.Partitions {
					records += len(recordsOf(t, p.RecordBatches))
				}
			}
			if took < test.want-50*time.Millisecond || took > test.want+slack || records != test.records {
				t.Errorf("answered after %v with %d records, want %v and %d", took, records, test.want, test.records)
			}
		})
	}
}

// sessionRequest asks within a session.
func sessionRequest(version int16, session, epoch int32, from ...fetchFrom) *kmsg.FetchRequest {
	req := fetchRequest(version, from...)
	req.SessionID, req.SessionEpoch = session, epoch
	return req
}

// sessionOf is the session that an answer names, 0 where there is no answer.
func sessionOf(resp kmsg.Response) int32 {
	if answer, ok := resp.(*kmsg.FetchResponse); ok {
		return answer.SessionID
	}
	return 0
}

// forget takes partitions out of the session.
func forget(req *kmsg.FetchRequest, topic topicRef, partitions ...int32) *kmsg.FetchRequest {
	req.ForgottenTopics = append(req.ForgottenTopics, kmsg.FetchRequestForgottenTopic{Topic: topic.name, TopicID: topic.id, Partitions: partitions})
	return req
}

// testSessions goes through what a session does (KIP-227).
func testSessions(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	a, b, missing := s.create("a", 3), s.create("b", 2), topicRef{name: "missing"}
	write := func(topic topicRef, partition int32, value string) {
		t.Helper()
		s.ask("write "+value, produceRequest(9, topic, partition, clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte(value)}))))
	}
	const v = 11
	write(a, 0, "a0-0")
	session := sessionOf(s.ask("a new session: two partitions of a, one of b", sessionRequest(v, 0, 0, fetchFrom{a, 0, 0}, fetchFrom{a, 1, 0}, fetchFrom{b, 0, 0})))
	if session == 0 {
		t.Fatal("no session: is the cache full?")
	}
	s.ask("1: the same record again, the position did not move", sessionRequest(v, session, 1))
	s.ask("2: read on: nothing new", sessionRequest(v, session, 2, fetchFrom{a, 0, 1}))
	s.ask("3: nothing new", sessionRequest(v, session, 3))
	write(a, 1, "a1-0")
	write(b, 0, "b0-0")
	s.ask("4: two that grew", sessionRequest(v, session, 4))
	s.ask("5: read on in one of them", sessionRequest(v, session, 5, fetchFrom{a, 1, 1}))
	s.ask("6: read on in the other", sessionRequest(v, session, 6, fetchFrom{b, 0, 1}))
	s.ask("7: one more partition", sessionRequest(v, session, 7, fetchFrom{a, 2, 0}))
	s.ask("8: nothing new", sessionRequest(v, session, 8))
	s.ask("9: an offset goes back", sessionRequest(v, session, 9, fetchFrom{a, 0, 0}))
	s.ask("10: one that is forgotten, one that grew", forget(sessionRequest(v, session, 10), a, 0))
	write(a, 0, "a0-1")
	s.ask("11: the forgotten one grew", sessionRequest(v, session, 11))
	s.ask("12: forgotten and named at once", forget(sessionRequest(v, session, 12, fetchFrom{a, 0, 0}), a, 0))
	s.ask("13: forgotten is what was not there", forget(sessionRequest(v, session, 13), a, 0, 7))
	s.ask("14: a topic that is not there", sessionRequest(v, session, 14, fetchFrom{missing, 0, 0}))
	s.ask("15: the error again", sessionRequest(v, session, 15))
	s.ask("16: forgotten", forget(sessionRequest(v, session, 16), missing, 0))
	s.ask("17: beyond the end", sessionRequest(v, session, 17, fetchFrom{a, 1, 9}))
	s.ask("18: the error again", sessionRequest(v, session, 18))
	s.ask("19: mended", sessionRequest(v, session, 19, fetchFrom{a, 1, 1}))
	s.ask("19 again: the wrong epoch", sessionRequest(v, session, 19))
	s.ask("25: the wrong epoch", sessionRequest(v, session, 25))
	s.ask("20: all the same", sessionRequest(v, session, 20))
	s.ask("21: by topic id", sessionRequest(13, session, 21, fetchFrom{a, 0, 0}))
	s.ask("21: by name", sessionRequest(v, session, 21))
	s.ask("close it: an answer in full", sessionRequest(v, session, -1, fetchFrom{a, 0, 0}, fetchFrom{a, 1, 1}))
	s.ask("22: it is gone", sessionRequest(v, session, 22))
	s.ask("no session, epoch 5", sessionRequest(v, 0, 5))
	s.ask("a session that never was, epoch 0", sessionRequest(v, 12345, 0, fetchFrom{b, 0, 0}))
	s.ask("a session that never was, epoch 1", sessionRequest(v, 12345, 1, fetchFrom{b, 0, 0}))
	empty := sessionOf(s.ask("a session of nothing", sessionRequest(v, 0, 0)))
	s.ask("1: one partition", sessionRequest(v, empty, 1, fetchFrom{b, 0, 0}))
	s.ask("2: forgotten again: that ends it", forget(sessionRequest(v, empty, 2), b, 0))
	s.ask("3: it is gone", sessionRequest(v, empty, 3))
	replaced := sessionOf(s.ask("a session", sessionRequest(v, 0, 0, fetchFrom{b, 0, 1})))
	fresh := sessionOf(s.ask("it is replaced", sessionRequest(v, replaced, 0, fetchFrom{b, 0, 0})))
	s.ask("1: of the old one", sessionRequest(v, replaced, 1))
	s.ask("1: of the new one", sessionRequest(v, fresh, 1))
	s.ask("close it", sessionRequest(v, fresh, -1))
	s.ask("a session from v7 on", sessionRequest(7, 0, 0, fetchFrom{b, 0, 1}))
	s.compare("sessions")
}

// testSessionsByID: sessions by topic id (KIP-516), and topics that are deleted and created again under them.
func testSessionsByID(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	a, b, unknown := s.create("a", 2), s.create("b", 1), topicRef{id: [16]byte{1, 2, 3}}
	s.alias(unknown, "unknown")
	write := func(topic topicRef, partition int32, value string) {
		t.Helper()
		s.ask("write "+value, produceRequest(13, topic, partition, clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte(value)}))))
	}
	const v = 17
	write(a, 0, "a0-0")
	write(b, 0, "b0-0")
	session := sessionOf(s.ask("a session: two known ids, and an unknown one", sessionRequest(v, 0, 0, fetchFrom{a, 0, 0}, fetchFrom{a, 1, 0}, fetchFrom{b, 0, 1}, fetchFrom{unknown, 0, 0})))
	s.ask("1: what did not move, and the error, again", sessionRequest(v, session, 1))
	s.ask("2: the unknown one is forgotten, the other read on", forget(sessionRequest(v, session, 2, fetchFrom{a, 0, 1}), unknown, 0))
	s.ask("3: nothing new", sessionRequest(v, session, 3))
	s.ask("by name", sessionRequest(12, session, 4))
	write(b, 0, "b0-1")
	s.ask("4: one that grew", sessionRequest(v, session, 4))
	if err := (clients.Franz{Addr: target.Kafka}).DeleteTopic(within(t, limit), b.name); err != nil {
		t.Fatal(err)
	}
	fresh := s.recreate(b.name, "fresh b", 1)
	s.ask("5: it was deleted, and made again", sessionRequest(v, session, 5))
	s.ask("6: again", sessionRequest(v, session, 6))
	s.ask("7: the old one is replaced by the new one", forget(sessionRequest(v, session, 7, fetchFrom{fresh, 0, 0}), b, 0))
	write(fresh, 0, "fresh")
	s.ask("8: the new one grew", sessionRequest(v, session, 8))
	s.ask("close it", sessionRequest(v, session, -1))
	s.compare("sessions-by-id")
}

// testSessionCacheFull opens sessions until there are no more: then requests are answered in full, without one. It gives
// them back, so that other tests have some.
func testSessionCacheFull(t *testing.T, target *harness.Target) {
	const slots = 1000 // Kafka's default, and the gateway's
	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 1)
	askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(1)...))))
	open := func() *kmsg.FetchResponse {
		t.Helper()
		answer := askRaw[*kmsg.FetchResponse](t, conn, sessionRequest(11, 0, 0, fetchFrom{topic, 0, 0}))
		if answer.ErrorCode != 0 || len(answer.Topics) != 1 || len(recordsOf(t, answer.Topics[0].Partitions[0].RecordBatches)) != 1 {
			t.Fatalf("not the whole answer: %+v", answer)
		}
		return answer
	}
	var sessions []int32
	for range slots + 1 {
		id := open().SessionID
		if id == 0 {
			break
		}
		sessions = append(sessions, id)
	}
	slices.Sort(sessions)
	if n := len(slices.Compact(slices.Clone(sessions))); n != len(sessions) || n > slots || n < slots*9/10 {
		t.Errorf("%d sessions, %d of them with an id of their own; want nearly %d, and no more", len(sessions), n, slots)
	}
	if id := open().SessionID; id != 0 {
		t.Errorf("a session where there should be none left: %d", id)
	}
	for _, id := range sessions {
		askRaw[*kmsg.FetchResponse](t, conn, sessionRequest(11, id, -1))
	}
	if open().SessionID == 0 {
		t.Error("no session after all were closed")
	}
}

// testIsolation: without transactions the last stable offset is the high watermark, at either level.
func testIsolation(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2)
	s.ask("write", produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)...))))
	for level := range int8(2) {
		for _, version := range []int16{4, 11, 12, 18} {
			req := fetchRequest(version, fetchFrom{topic, 0, 0}, fetchFrom{topic, 1, 0})
			req.IsolationLevel = level
			s.ask(fmt.Sprintf("read at level %d, one of them empty", level), req)
		}
		req := fetchRequest(11, fetchFrom{topic, 0, 3})
		req.IsolationLevel = level
		s.ask(fmt.Sprintf("the end at level %d", level), req)
		for partition := range int32(2) {
			for _, asked := range []int64{-1, -2} {
				list := listOffsetsRequest(7, topic.name, asked, partition, -1)
				list.IsolationLevel = level
				s.ask(fmt.Sprintf("the offset %d of partition %d at level %d", asked, partition, level), list)
			}
		}
	}
	s.compare("isolation")
	client := franz(t, target.Kafka, kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic.name: {0: kgo.NewOffset().At(0)}}))
	if fetches := client.PollRecords(within(t, limit), 3); fetches.Err() != nil || fetches.NumRecords() != 3 {
		t.Errorf("franz-go reads %d committed records: %v", fetches.NumRecords(), fetches.Err())
	}
}

// testOutOfRange reads around a partition's bounds, also once they have moved.
func testOutOfRange(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2)
	s.ask("write", produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)[:1]...))))
	for range 3 {
		s.ask("write", produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)[1:2]...))))
	}
	for _, offset := range []int64{-2, -1, 0, 3, 4, 5, 1 << 40} {
		s.ask(fmt.Sprintf("read from %d", offset), fetchRequest(11, fetchFrom{topic, 0, offset}))
	}
	s.ask("delete what is before 2", deleteRecordsRequest(2, topic.name, 0, 2))
	for _, offset := range []int64{0, 1, 2, 4, 5} {
		s.ask(fmt.Sprintf("read from %d", offset), fetchRequest(12, fetchFrom{topic, 0, offset}))
	}
	s.compare("out-of-range")

	// At the end a Fetch waits, at once after it does not.
	req := fetchRequest(12, fetchFrom{topic, 0, 4})
	req.MinBytes, req.MaxWaitMillis = 1, 100
	begin := time.Now()
	if p := askRaw[*kmsg.FetchResponse](t, s.conn, req).Topics[0].Partitions[0]; p.ErrorCode != 0 || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("at the end: code %d after %v, want 0 after 100ms", p.ErrorCode, time.Since(begin))
	}
	req.Topics[0].Partitions[0].FetchOffset, req.MaxWaitMillis = 5, 10_000
	expectCode(t, askRaw[*kmsg.FetchResponse](t, s.conn, req).Topics[0].Partitions[0].ErrorCode, kerr.OffsetOutOfRange)
}
