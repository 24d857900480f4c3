// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordFrom is the address of a real broker, whose answers to the story below then replace the file's.
var recordFrom = flag.String("record-fetch-from", "", "address of a Kafka broker to record testdata/kafka-4.1.1-fetch.txt from")

const fetchStory = "testdata/kafka-4.1.1-fetch.txt"

// A story about sessions, topic ids and topics made again is told to the gateway as it was to a real broker, 4.1.1, and
// answered in the same way. Partitions of an answer are compared whatever their order is, sessions by their first mention.
func TestParityFetchSessions(t *testing.T) {
	s := &storyteller{TB: t, sessions: map[int32]string{0: "none"}, ids: map[[16]byte]string{}}
	if *recordFrom != "" {
		s.addr, s.pause = *recordFrom, 500*time.Millisecond
	} else {
		s.addr = start(t, setup{}).addr
	}
	tellFetchStory(s)
	if *recordFrom != "" {
		if err := os.WriteFile(fetchStory, []byte(s.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(fetchStory)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(s.text.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func tellFetchStory(s *storyteller) {
	s.create("a", 4)
	s.create("b", 1)
	s.produce("a", 0, "v")

	s.chapter("a session by name")
	s.fetch(11, "none", 0, "a/0@0 a/1@0")
	s.fetch(11, "S1", 1, "")
	s.fetch(11, "S1", 2, "a/0@1")
	s.produce("a", 1, "w")
	s.fetch(11, "S1", 3, "")
	s.fetch(11, "S1", 4, "-a/1")
	s.fetch(11, "S1", 5, "missing/0@0")
	s.fetch(11, "S1", 6, "")
	s.fetch(11, "S1", 6, "")
	s.fetch(13, "S1", 7, "")
	s.fetch(11, "S1", 7, "a/0@9")
	s.fetch(11, "S1", 8, "a/0@0 a/9@0 -missing/0")
	s.fetch(11, "S1", -1, "a/0@0 a/1@0")
	s.fetch(11, "S1", 9, "")

	s.chapter("other epochs")
	s.fetch(11, "none", 5, "a/0@0")
	s.fetch(11, "none", -2, "a/0@0")
	s.fetch(12, "none", -1, "a/0@0 b/0@0")
	s.fetch(6, "none", 0, "a/0@0")

	s.chapter("nothing is named, and everything forgotten")
	s.fetch(11, "none", 0, "")
	s.fetch(11, "S2", 1, "")
	s.fetch(11, "S2", 2, "")
	s.fetch(12, "none", 0, "a/2@0 a/3@0")
	s.fetch(12, "S3", 1, "a/2@0 -a/2 -a/3")
	s.fetch(12, "S3", 2, "")

	s.chapter("a session by id")
	s.fetch(13, "none", 0, "a/0@0 a/2@0 missing/0@0")
	s.fetch(13, "S4", 1, "a/0@1")
	s.fetch(18, "S4", 2, "b/0@0 a/9@0 -missing/0")
	s.fetch(18, "S4", 3, "b/0@3 -a/9")
	s.fetch(12, "S4", 4, "")
	s.fetch(18, "S4", 4, "-b/0")
	s.fetch(17, "S4", 0, "a/0@0")
	s.fetch(18, "S4", 5, "")

	s.chapter("a topic is deleted while fetches wait, and made again")
	s.fetch(13, "none", 0, "b/0@0")
	answers := []func(){
		s.waiting(11, "none", -1, "b/0@0"),
		s.waiting(13, "none", -1, "b/0@0"),
		s.waiting(13, "S6", 1, ""),
	}
	s.delete("b")
	for _, answer := range answers {
		answer()
	}
	s.fetch(13, "S6", 2, "")
	s.fetch(13, "none", -1, "b/0@0")
	s.create("b", 2)
	s.fetch(13, "S6", 3, "")
	s.fetch(13, "S6", 4, "old-b/0@0 old-b/1@0")
	s.fetch(13, "S6", 5, "b/0@0")
	s.fetch(13, "S6", 6, "-old-b/0 -old-b/1")
	s.fetch(13, "none", -1, "old-b/0@0 b/0@0 zero/0@0")
	s.delete("a")
	s.delete("b")
}

// storyteller writes down what it asks and what is answered.
type storyteller struct {
	testing.TB
	addr     string
	pause    time.Duration // a real broker's changes take a moment
	text     strings.Builder
	sessions map[int32]string    // S1, S2 and so on
	ids      map[[16]byte]string // topics by id; the topic before the last of a name is old-NAME
}

func (s *storyteller) dial() *client {
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { nc.Close() })
	return &client{TB: s.TB, id: "story", nc: nc}
}

func (s *storyteller) chapter(title string) { fmt.Fprintf(&s.text, "\n# %s\n", title) }

func (s *storyteller) note(format string, args ...any) { fmt.Fprintf(&s.text, format+"\n", args...) }

func (s *storyteller) create(topic string, partitions int32) {
	got := ask[*kmsg.CreateTopicsResponse](s.dial(), createRequest(7, newTopicSpec(topic, partitions, 1))).Topics[0]
	if got.ErrorCode != 0 {
		s.Fatalf("create %s: error %d", topic, got.ErrorCode)
	}
	if old, had := s.id(topic); had {
		s.ids[old] = "old-" + topic
	}
	s.ids[got.TopicID] = topic
	s.note("create %s", topic)
	time.Sleep(s.pause)
}

func (s *storyteller) delete(topic string) {
	if got := ask[*kmsg.DeleteTopicsResponse](s.dial(), deleteRequest(5, topic)).Topics[0]; got.ErrorCode != 0 {
		s.Fatalf("delete %s: error %d", topic, got.ErrorCode)
	}
	s.note("delete %s", topic)
	time.Sleep(s.pause)
}

func (s *storyteller) produce(topic string, partition int32, value string) {
	s.dial().produce(topic, partition, batch(value))
	s.note("produce %s/%d", topic, partition)
}

func (s *storyteller) id(topic string) (id [16]byte, ok bool) {
	for id, name := range s.ids {
		if name == topic {
			return id, true
		}
	}
	if topic != "zero" {
		copy(id[:], topic)
	}
	return id, false
}

// request names partitions as topic/partition@offset, and those to forget as -topic/partition.
func (s *storyteller) request(version int16, session string, epoch int32, names string) *kmsg.FetchRequest {
	var parts []part
	var forgotten []kmsg.FetchRequestForgottenTopic
	for _, name := range strings.Fields(names) {
		var p part
		var rest string
		p.topic, rest, _ = strings.Cut(strings.TrimPrefix(name, "-"), "/")
		if strings.HasPrefix(name, "-") {
			fmt.Sscanf(rest, "%d", &p.partition)
			id, _ := s.id(p.topic)
			forgotten = append(forgotten, kmsg.FetchRequestForgottenTopic{Topic: p.topic, TopicID: id, Partitions: []int32{p.partition}})
			continue
		}
		fmt.Sscanf(rest, "%d@%d", &p.partition, &p.offset)
		parts = append(parts, p)
	}
	req := fetchRequest(parts...)
	req.Version, req.SessionEpoch, req.ForgottenTopics = version, epoch, forgotten
	for id, name := range s.sessions {
		if name == session {
			req.SessionID = id
		}
	}
	for i := range req.Topics {
		req.Topics[i].TopicID, _ = s.id(req.Topics[i].Topic)
	}
	return req
}

func (s *storyteller) fetch(version int16, session string, epoch int32, names string) {
	s.Helper()
	req := s.request(version, session, epoch, names)
	resp := ask[*kmsg.FetchResponse](s.dial(), req)
	s.note("fetch v%d, session %s, epoch %d: %s", version, session, epoch, names)
	s.answer(resp)
}

// waiting begins a fetch that waits; the function that it returns notes its answer. A broker says 3, and so does the
// gateway; but as nobody can see that the wait has begun, the request may have come after the deletion, when 100 is right.
func (s *storyteller) waiting(version int16, session string, epoch int32, names string) (answer func()) {
	req := s.request(version, session, epoch, names)
	req.MaxWaitMillis = long
	c := s.dial()
	c.send(req)
	time.Sleep(s.pause)
	return func() {
		s.Helper()
		began := time.Now()
		resp := next[*kmsg.FetchResponse](c)
		if took := time.Since(began); took > long*time.Millisecond/2 {
			s.Errorf("the answer came after %v", took)
		}
		s.note("waited for, v%d, session %s, epoch %d: %s", version, session, epoch, names)
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				gone := p.ErrorCode == codeUnknownTopic || version >= 13 && p.ErrorCode == codeUnknownTopicID
				s.note("  partition %d, gone %v, %d bytes", p.Partition, gone, len(p.RecordBatches))
			}
		}
	}
}

func (s *storyteller) answer(resp *kmsg.FetchResponse) {
	s.Helper()
	name, ok := s.sessions[resp.SessionID]
	if !ok {
		name = fmt.Sprintf("S%d", len(s.sessions))
		s.sessions[resp.SessionID] = name
	}
	s.note("  error %d, session %s", resp.ErrorCode, name)
	var lines []string
	for _, t := range resp.Topics {
		topic := t.Topic
		if resp.Version >= 13 {
			if topic = s.ids[t.TopicID]; topic == "" {
				topic = fmt.Sprintf("%q", strings.TrimRight(string(t.TopicID[:]), "\x00"))
			}
		}
		for _, p := range t.Partitions {
			lines = append(lines, fmt.Sprintf("  %s/%d: error %d, high watermark %d, stable %d, log start %d, aborted null %v, %d records",
				topic, p.Partition, p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.AbortedTransactions == nil,
				len(records(s, p.RecordBatches))))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		s.note("%s", line)
	}
}
