// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

var rewrite = flag.Bool("rewrite", false, "write the examples of FORMAT.md anew")

type example struct {
	name   string
	record record
}

// examples are of every kind at least one.
func examples() []example {
	at := time.Unix(1_700_000_000, 123)
	offset := func(o coordinator.Offset) string { return string(appendOffset(nil, &o)) }
	snapshot := coordinator.Snapshot{
		Generation: 3, ProtocolType: "consumer", Protocol: "range", Leader: "m-1",
		Members: []coordinator.MemberSnapshot{
			{
				MemberID: "m-1", InstanceID: "i", ClientID: "m", ClientHost: "h", SessionTimeout: 45 * time.Second, RebalanceTimeout: time.Minute,
				Protocols: []coordinator.Protocol{{Name: "range", Metadata: []byte{1}}, {Name: "none"}},
				Topics:    []string{"t"}, Assignment: []byte{2, 3},
			},
			{MemberID: "m-2", Topics: nil},
		},
	}
	empty := coordinator.Snapshot{Generation: 4, ProtocolType: "consumer", EmptySince: at}
	return []example{
		{"owner", owner{2, 4, 7, "boot"}},
		{"checkpoint begin", checkpointBegin{at, owner{2, 4, 7, "boot"}}},
		{"checkpoint end", checkpointEnd{}},
		{"part", part{1, 3, "abc"}},
		{"offsets committed", offsetsCommitted{"g", []committedTopic{
			{"t", "id", []committedPartition{
				{0, offset(coordinator.Offset{Position: 42, LeaderEpoch: -1, CommittedAt: at})},
				{1, offset(coordinator.Offset{Position: -1, LeaderEpoch: 5, Metadata: "m", CommittedAt: at, ExpireAt: at.Add(time.Hour)})},
			}},
			{"u", "", []committedPartition{{0, offset(coordinator.Offset{})}}},
		}}},
		{"offsets removed", offsetsRemoved{"g", []removedTopic{{"t", []int32{0, 1}}}}},
		{"group saved", groupSaved{"g", string(appendSnapshot(nil, &snapshot))}},
		{"group saved, empty", groupSaved{"g", string(appendSnapshot(nil, &empty))}},
		{"group removed", groupRemoved{"g"}},
		{"producer ids", producerIDs{7, 1_700_000_000_000}},
		{"topic settings", topicSettings{"id", "t", map[string]string{"retention.ms": "1", "cleanup.policy": "delete"}}},
		{"topic removed", topicRemoved{"id"}},
		{"quota", quota{"user=u", map[string]string{"producer_byte_rate": "1024"}}},
		{"log start", logStart{"id", "t", 1, LogStart{1000, 1_700_000_000_000_000}}},
	}
}

// TestFormat compares FORMAT.md with the code.
func TestFormat(t *testing.T) {
	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	const heading = "## Examples\n\nOf boot id `boot`, in hex, one of each kind; a test compares them with what the code writes.\n\n"
	rules, _, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatal("FORMAT.md has no examples")
	}
	want := rules + heading + "```\n"
	kinds := map[kind]bool{}
	for _, e := range examples() {
		kinds[e.record.kind()] = true
		want += fmt.Sprintf("%-19s %s\n", e.name, hex.EncodeToString(appendRecord(nil, writerOf("boot"), e.record)))
		name, _, _ := strings.Cut(e.name, ",")
		if row := fmt.Sprintf("| %d | %s |", e.record.kind(), name); !strings.Contains(rules, row) {
			t.Errorf("FORMAT.md has no row %q", row)
		}
	}
	want += "```\n"
	for k := range kind(255) {
		if known := decoderOf(k) != nil; known != kinds[k] {
			t.Errorf("kind %d: known %v, example %v", k, known, kinds[k])
		}
	}
	if *rewrite {
		if err := os.WriteFile("FORMAT.md", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("FORMAT.md (-), the code (+):\n%s", diff)
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	for _, e := range examples() {
		writer, got, err := decodeRecord(string(appendRecord(nil, 5, e.record)))
		if err != nil || writer != 5 {
			t.Errorf("%s: writer %d, %v", e.name, writer, err)
		}
		if diff := cmp.Diff(e.record, got, cmp.AllowUnexported(
			owner{}, checkpointBegin{}, part{}, offsetsCommitted{}, committedTopic{}, committedPartition{}, offsetsRemoved{}, removedTopic{},
			groupSaved{}, groupRemoved{}, producerIDs{}, topicSettings{}, topicRemoved{}, quota{}, logStart{})); diff != "" {
			t.Errorf("%s:\n%s", e.name, diff)
		}
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	for _, s := range []coordinator.Snapshot{
		{Members: []coordinator.MemberSnapshot{}},
		{
			Generation: -1, ProtocolType: "p", Protocol: "q", Leader: "l", EmptySince: time.Unix(-5, 999_999_999),
			Members: []coordinator.MemberSnapshot{
				{Protocols: []coordinator.Protocol{}, Topics: []string{}},
				{MemberID: "a", InstanceID: "b", ClientID: "c", ClientHost: "d", SessionTimeout: 1, RebalanceTimeout: -1,
					Protocols: []coordinator.Protocol{{Name: "x", Metadata: []byte("y")}}, Topics: []string{"t", ""}, Assignment: []byte("z")},
			},
		},
	} {
		if diff := cmp.Diff(s, decodeSnapshot(string(appendSnapshot(nil, &s)))); diff != "" {
			t.Error(diff)
		}
	}
	for _, o := range []coordinator.Offset{
		{},
		{TopicID: "id", Position: 1<<63 - 1, LeaderEpoch: -1 << 31, Metadata: "m\x00", CommittedAt: time.Now(), ExpireAt: time.Date(9999, 1, 1, 0, 0, 0, 1, time.UTC)},
	} {
		if diff := cmp.Diff(o, decodeOffset(o.TopicID, string(appendOffset(nil, &o)))); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRefused has bytes that are no record.
func TestRefused(t *testing.T) {
	header := "\x01\x08writer!!"
	for _, tc := range []struct {
		name, payload string
		want          error
	}{
		{"empty", "", ErrCorrupt},
		{"a later version", "\x02", ErrUnknownRecord},
		{"version 0", "\x00" + header[1:], ErrUnknownRecord},
		{"a later kind", "\x01\x0fwriter!!", ErrUnknownRecord},
		{"a kind that is in no log", "\x01\x0awriter!!", ErrUnknownRecord},
		{"kind 0", "\x01\x00writer!!", ErrUnknownRecord},
		{"no writer", "\x01\x08writ", ErrCorrupt},
		{"no fields", header, ErrCorrupt},
		{"more than the fields", header + "\x01gx", ErrCorrupt},
		{"a string that is cut", header + "\x02g", ErrCorrupt},
		{"a length that is too long", header + "\x81\x00g", ErrCorrupt},
		{"a length beyond 64 bits", header + strings.Repeat("\xff", 9) + "\x02", ErrCorrupt},
		{"a length that does not end", header + strings.Repeat("\xff", 20), ErrCorrupt},
		{"more settings than there is room for", "\x01\x0dwriter!!\x01q\xff\xff\xff\x7f", ErrCorrupt},
		{"settings out of order", "\x01\x0dwriter!!\x01q\x02\x01b\x00\x01a\x00", ErrCorrupt},
		{"settings twice", "\x01\x0dwriter!!\x01q\x02\x01b\x00\x01b\x00", ErrCorrupt},
		{"a second of too many nanoseconds", "\x01\x02writer!!\x82\x94\xeb\xdc\x03\x00\x02\x01\x00\x00", ErrCorrupt},
		{"an instance beyond 32 bits", "\x01\x01writer!!\x01\x01\x80\x80\x80\x80\x20\x00", ErrCorrupt},
		{"a group of another type", "\x01\x07writer!!\x01g\x02\x00\x00\x00\x00\x00\x00", ErrCorrupt},
	} {
		if _, r, err := decodeRecord(tc.payload); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %v", tc.name, r, err)
		}
	}
	if _, _, err := decodeRecord(header + "\x01g"); err != nil {
		t.Errorf("what the cases are made from: %v", err)
	}
}

// FuzzRecord: decoding never panics, and what decodes encodes to the same bytes.
func FuzzRecord(f *testing.F) {
	for _, e := range examples() {
		f.Add(appendRecord(nil, 1, e.record))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		writer, r, err := decodeRecord(string(payload))
		if err != nil {
			return
		}
		if again := appendRecord(nil, writer, r); string(again) != string(payload) {
			t.Errorf("%x becomes %x", payload, again)
		}
		if g, ok := r.(groupSaved); ok {
			s := decodeSnapshot(g.snapshot)
			if again := appendSnapshot(nil, &s); string(again) != g.snapshot {
				t.Errorf("snapshot %x becomes %x", g.snapshot, again)
			}
		}
		if c, ok := r.(offsetsCommitted); ok {
			for _, topic := range c.topics {
				for _, p := range topic.partitions {
					o := decodeOffset(topic.id, p.value)
					if again := appendOffset(nil, &o); string(again) != p.value {
						t.Errorf("offset %x becomes %x", p.value, again)
					}
				}
			}
		}
	})
}

// FuzzLog: a log of any messages either loads, or says why not, and never panics. The messages come one after another: a
// length byte, the checkpoint it names, its sequence, its payload.
func FuzzLog(f *testing.F) {
	var all []byte
	for i, e := range examples() {
		payload := appendRecord(nil, writerOf("boot"), e.record)
		all = append(append(all, byte(len(payload)), 0xff, byte(i+1)), payload...)
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var messages fixed
		for len(data) >= 3 {
			n := min(int(data[0]), len(data)-3)
			messages = append(messages, Message{
				Offset: int64(len(messages)), Checkpoint: int64(int8(data[1])), Sequence: uint64(data[2]), Payload: data[3 : 3+n],
			})
			data = data[3+n:]
		}
		cfg := Config{Storage: messages}.withDefaults()
		r := newReader(&cfg)
		l, err := r.load(t.Context(), 0, newView)
		if err != nil {
			if !permanent(err) {
				t.Errorf("%v", err)
			}
			return
		}
		if l.next != int64(len(messages)) {
			t.Errorf("%d messages, loaded to %d", len(messages), l.next)
		}
		if err := l.view.eachChange(t.Context(), func(string, coordinator.Change) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}
