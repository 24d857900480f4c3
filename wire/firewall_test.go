// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsg takes the same bytes as the walk does, with any number of elements, and unknown tagged fields everywhere.
func TestLayoutsAreKmsgs(t *testing.T) {
	eachLayout(t, func(t *testing.T, table *Table, r *row, version int16, lay *compiled) {
		for elements := range 4 {
			for tags := range 2 {
				if tags*count(lay.fields, tagged)*elements*elements*elements > maxTags {
					continue
				}
				body := encode(nil, lay.fields, elements, tags)
				req, err := table.Decode(append(header(r.Key, version, lay), body...))
				if err != nil {
					t.Fatalf("%d elements, %d tags: %v", elements, tags, err)
				}
				if diff := cmp.Diff(string(body), string(req.Body.AppendTo(nil))); diff != "" {
					t.Errorf("%d elements, %d tags (-sent +encoded again):\n%s", elements, tags, diff)
				}
			}
		}
	})
}

// A request cut at any byte is refused; bytes behind it are ignored.
func TestLengthsAreExact(t *testing.T) {
	table := NewTable(ServeAll())
	for _, m := range goldenMessages(t) {
		if _, _, err := table.admit(m.Key, m.Version); err != nil || m.Kind != "request" {
			continue
		}
		frame := m.frame()
		for n := range frame {
			want := ErrMalformed
			if n < minRequestSize {
				want = ErrBadLength
			}
			if _, err := table.Inspect(frame[:n]); !errors.Is(err, want) {
				t.Errorf("%v: %d of %d bytes: %v", m, n, len(frame), err)
			}
		}
		whole, err := table.Inspect(frame)
		if err != nil {
			t.Errorf("%v: %v", m, err)
			continue
		}
		for _, more := range []string{"\x00", "\xff", "trailing"} { // Kafka reads what it knows
			if in, err := table.Inspect(append(slices.Clone(frame), more...)); err != nil || !slices.Equal(in.body, whole.body) {
				t.Errorf("%v: trailing %q: %v, a body of %d bytes instead of %d", m, more, err, len(in.body), len(whole.body))
			}
		}
	}
}

// A length blown up anywhere is refused, or was no length; either way little is allocated.
func TestBlownUpCounts(t *testing.T) {
	table := NewTable(ServeAll())
	for _, m := range goldenMessages(t) {
		if _, _, err := table.admit(m.Key, m.Version); err != nil || m.Kind != "request" {
			continue
		}
		for _, count := range [][]byte{
			{0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xfe}, {0x7f, 0xff},
			{0xff, 0xff, 0xff, 0xff, 0x07}, {0xff, 0xff, 0xff, 0xff, 0x0f}, {0xff, 0xff, 0xff, 0xff, 0xff, 1},
		} {
			for at := 4; at+len(count) <= len(m.frame()); at++ {
				frame := m.frame()
				copy(frame[at:], count)
				in, err := table.Inspect(frame)
				if err != nil {
					continue
				}
				if limit := int64(requestCost + 200*len(frame)); in.Cost > limit {
					t.Errorf("%v: %x at %d: cost %d of %d bytes", m, count, at, in.Cost, len(frame))
				}
				if _, err := in.Decode(); err != nil && !errors.Is(err, ErrMalformed) {
					t.Errorf("%v: %x at %d: %v", m, count, at, err)
				}
			}
		}
	}
}

func TestVersions(t *testing.T) {
	tests := []struct {
		key, version int16
		want         error
	}{
		{0, 2, ErrUnsupportedVersion}, {0, 14, ErrUnsupportedVersion}, {0, -1, ErrUnsupportedVersion},
		{0, -32768, ErrUnsupportedVersion}, {0, 32767, ErrUnsupportedVersion},
		{18, -1, ErrUnsupportedVersion},
		{68, 0, ErrUnknownAPI}, // known, not served yet
		{4, 0, ErrUnknownAPI}, {24, 0, ErrUnknownAPI}, {84, 0, ErrUnknownAPI}, {501, 0, ErrUnknownAPI},
		{10001, 0, ErrUnknownAPI}, {32767, 0, ErrUnknownAPI}, {-1, 0, ErrUnknownAPI}, {-32768, 0, ErrUnknownAPI},
	}
	for _, test := range tests {
		frame := binary.BigEndian.AppendUint16(nil, uint16(test.key))
		frame = binary.BigEndian.AppendUint16(frame, uint16(test.version))
		frame = append(frame, make([]byte, 100)...)
		if _, err := NewTable().Decode(frame); !errors.Is(err, test.want) {
			t.Errorf("key %d version %d: %v", test.key, test.version, err)
		}
	}
}

// ApiVersions above ours is not parsed, and is no error however its bytes look.
func TestAboveMax(t *testing.T) {
	for _, junk := range []string{"", "\xff", "\x7f\xff\xff\xff\xff junk"} {
		frame := append([]byte{0, 18, 0, 127, 0, 0, 0, 9}, junk...)
		req, err := NewTable().Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Header{Key: 18, Version: 127, CorrelationID: 9}, req.Header); !req.AboveMax || diff != "" {
			t.Errorf("AboveMax %v (-want +got):\n%s", req.AboveMax, diff)
		}
		if v := req.Body.GetVersion(); v != 127 {
			t.Errorf("version %d", v)
		}
	}
	if _, err := NewTable().Decode([]byte{0, 18, 0, 127, 0, 0, 0}); !errors.Is(err, ErrBadLength) {
		t.Error(err)
	}
}

func TestHeader(t *testing.T) {
	name := "me"
	tests := []struct {
		name  string
		frame string
		want  Header
		err   error
	}{
		{"v1", "\x00\x03\x00\x00\xff\xff\xff\xff\x00\x02me\x00\x00\x00\x00", Header{3, 0, -1, &name}, nil},
		{"v1, no client id", "\x00\x03\x00\x00\x00\x00\x00\x01\xff\xff\x00\x00\x00\x00", Header{3, 0, 1, nil}, nil},
		{"v2", "\x00\x16\x00\x02\x00\x00\x00\x01\x00\x02me\x00" + "\x00\x00\x00\x00\x01\x00", Header{22, 2, 1, &name}, nil},
		{"v2, tagged", "\x00\x16\x00\x02\x00\x00\x00\x01\x00\x02me\x01\x05\x02hi" + "\x00\x00\x00\x00\x01\x00", Header{22, 2, 1, &name}, nil},
		{"v2, tag cut", "\x00\x16\x00\x02\x00\x00\x00\x01\x00\x02me\x01\x05\x09hi" + "\x00\x00\x00\x00\x01\x00", Header{}, ErrMalformed},
		{"client id too long", "\x00\x03\x00\x00\x00\x00\x00\x01\x7f\xffme", Header{}, ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frame := []byte(test.frame)
			req, err := NewTable().Decode(frame)
			if !errors.Is(err, test.err) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			clear(frame) // the client id must be a copy
			if diff := cmp.Diff(test.want, req.Header); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// metadataOf names n topics, each by as many bytes.
func metadataOf(n, nameLength int) kmsg.Request {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 8
	for range n {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(strings.Repeat("n", nameLength))
		req.Topics = append(req.Topics, topic)
	}
	return req
}

func coordinatorsOf(n int) kmsg.Request {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = 4
	req.CoordinatorKeys = slices.Repeat([]string{"some group"}, n)
	return req
}

func offsetFetchOf(partitions int) kmsg.Request {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = 7
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Partitions = make([]int32, partitions)
	req.Topics = append(req.Topics, topic)
	return req
}

func deleteRecordsOf(topics, partitions int) kmsg.Request {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = 2
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Partitions = make([]kmsg.DeleteRecordsRequestTopicPartition, partitions)
	req.Topics = slices.Repeat([]kmsg.DeleteRecordsRequestTopic{topic}, topics)
	return req
}

func frameOf(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)[lengthSize:]
}

// Array elements are bounded for a request as a whole, by its frame's size where requests name many partitions.
func TestElementBudget(t *testing.T) {
	table := NewTable(ServeAll())
	tests := []struct {
		name string
		req  kmsg.Request
		want error
	}{
		{"4,096 coordinators", coordinatorsOf(4096), nil},
		{"4,097 coordinators", coordinatorsOf(4097), ErrOverBudget},
		{"64 x 63 partitions and their topics", deleteRecordsOf(64, 63), nil},
		{"64 x 64 partitions and their topics", deleteRecordsOf(64, 64), ErrOverBudget},
		{"10,000 topics of 10 bytes", metadataOf(10_000, 8), nil},
		{"10,000 topics of 3 bytes", metadataOf(10_000, 1), ErrOverBudget},
		{"4,096 topics of 2 bytes", metadataOf(4096, 0), nil},
		{"4,097 topics of 2 bytes", metadataOf(4097, 0), ErrOverBudget},
		{"100,000 partition numbers of one topic", offsetFetchOf(100_000), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := table.Decode(frameOf(test.req)); !errors.Is(err, test.want) {
				t.Error(err)
			}
		})
	}
}

// Requests that name 10,000 partitions, topics or groups pass where clients send such: names of 8 bytes and
// more, as many in one topic or one in each, in every version.
func TestManyPartitions(t *testing.T) {
	eachLayout(t, func(t *testing.T, table *Table, r *row, version int16, lay *compiled) {
		if !r.manyPartitions {
			t.Skip("bounded by a fixed number of elements")
		}
		for i, many := range arrays(lay.fields) {
			s := shape{many: many, n: 10_000, others: 1, text: 8, data: 61} // the smallest record batch
			frame := s.encode(header(r.Key, version, lay), lay.fields)
			if _, err := table.Inspect(frame); err != nil {
				t.Errorf("array %d: %v", i, err)
			}
		}
	})
}

// At most 64 tagged fields in one request, the header's included.
func TestTagBudget(t *testing.T) {
	table := NewTable()
	frame := func(inHeader, inBody int) []byte {
		dst := []byte{0, 60, 0, 0, 0, 0, 0, 1, 0xff, 0xff} // DescribeCluster v0
		dst = encode(dst, []field{{kind: tagged}}, 0, inHeader)
		return encode(append(dst, 0), []field{{kind: tagged}}, 0, inBody)
	}
	for _, test := range []struct {
		inHeader, inBody int
		want             error
	}{
		{0, 64, nil}, {32, 32, nil}, {64, 0, nil},
		{0, 65, ErrOverBudget}, {65, 0, ErrOverBudget}, {33, 32, ErrOverBudget},
	} {
		if _, err := table.Decode(frame(test.inHeader, test.inBody)); !errors.Is(err, test.want) {
			t.Errorf("%d + %d: %v", test.inHeader, test.inBody, err)
		}
	}
}

// fetchWithState is a Fetch v15 whose replica state, a tagged field that kmsg knows, holds n tagged fields of its own.
func fetchWithState(n int) []byte {
	state := make([]byte, 12) // replica id and epoch
	state = binary.AppendUvarint(state, uint64(n))
	for i := range n {
		state = append(binary.AppendUvarint(state, uint64(i)), 0)
	}
	frame := []byte{0, 1, 0, 15, 0, 0, 0, 1, 0xff, 0xff, 0}
	frame = append(frame, make([]byte, 21)...) // wait, min, max, isolation, session id and epoch
	frame = append(frame, 1, 1, 1)             // no topics, none forgotten, no rack
	frame = append(frame, 1, 1)                // one tagged field, number 1
	frame = binary.AppendUvarint(frame, uint64(len(state)))
	return append(frame, state...)
}

// Tagged fields inside a known tagged field count as well: kmsg would make a map entry of some 70 bytes out of each
// three.
func TestNestedTagBudget(t *testing.T) {
	table := NewTable(ServeAll())
	junk := fetchWithState(0)
	junk[len(junk)-1] = 9 // tagged fields that are not there
	trailing := append(fetchWithState(0), 0)
	trailing[len(trailing)-15]++ // the value's length
	for _, test := range []struct {
		name  string
		frame []byte
		want  error
	}{
		{"none", fetchWithState(0), nil},
		{"63 in one", fetchWithState(63), nil},
		{"64 in one", fetchWithState(64), ErrOverBudget},
		{"a million in one", fetchWithState(1_000_000), ErrOverBudget},
		{"cut", junk, ErrMalformed},
		{"trailing bytes", trailing, ErrMalformed},
	} {
		if _, err := table.Decode(test.frame); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A decoded request refers to its frame in byte slices only.
func TestAliasing(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	req.Version = 9
	topic, partition := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic, partition.Records = "topic", []byte("records")
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	frame := frameOf(req)
	got, err := NewTable().Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	clear(frame)
	decoded := got.Body.(*kmsg.ProduceRequest).Topics[0]
	if decoded.Topic != "topic" {
		t.Errorf("the topic's name was not copied: %q", decoded.Topic)
	}
	if records := decoded.Partitions[0].Records; string(records) != strings.Repeat("\x00", 7) {
		t.Errorf("the records were copied: %q", records)
	}
}
