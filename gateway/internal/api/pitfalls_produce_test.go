// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// What other servers and proxies got wrong about Produce. Beside these: nulls, empties, repeated header names, long keys
// and timestamps in TestProduceRoundTrip, LogAppendTime in TestLogAppendTime, sequences in TestParitySequences, uncertain
// writes in produce_outcomes_test.go, what decompression may cost in produce_limits_test.go.

// One bit of the header is wrong: what the CRC covers is corrupt, what it does not cover is judged by itself, and the
// leader epoch is nobody's business. Whatever is taken is served with a true CRC.
func TestProduceHeaderBits(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	good := batch("one", "two")
	taken := 1
	c.produce(topic, 0, good)
	for at := range recordcodec.HeaderSize {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[at] ^= 1 << bit
			want := int16(codeCorrupt)
			switch length := int32(binary.BigEndian.Uint32(b[atLength:])); {
			case at < atLength: // base offset
				want = codeInvalidRecord
			case at < atLength+4 && length >= 14 && int(length)+12 > len(b): // no whole batch
				want = codeInvalidRecord
			case at >= 12 && at < atMagic: // leader epoch
				want = 0
				taken++
			case at == atMagic && b[at] < 2:
				want = codeInvalidRecord
			case at == atAttributes+1 && (bit == 4 || bit == 5): // transactional, control
				want = codeUnsupportedVersion
			}
			got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: b})).Topics[0].Partitions[0]
			if got.ErrorCode != want {
				t.Errorf("byte %d, bit %d: error %d, want %d", at, bit, got.ErrorCode, want)
			}
		}
	}
	if got := len(c.fetchAll(topic, 0)); got != 2*taken {
		t.Errorf("%d records, want %d", got, 2*taken)
	}
}

// Exactly one batch of format 2 for each partition. Whatever else there is, it is refused whole, and the partitions
// beside it are written.
func TestProduceShapes(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	two := batch("one", "two")
	for name, tc := range map[string]struct {
		records []byte
		code    int16
	}{
		"two batches":                 {slices.Concat(two, two), codeInvalidRecord},
		"three, the last cut":         {slices.Concat(two, two, two[:30]), codeInvalidRecord},
		"a batch, and half of one":    {slices.Concat(two, two[:len(two)/2]), codeInvalidRecord},
		"an old message before it":    {slices.Concat(messageSetV1(), two), codeInvalidRecord},
		"an old message behind it":    {slices.Concat(two, messageSetV1()), codeInvalidRecord},
		"an old message":              {messageSetV1(), codeInvalidRecord},
		"nothing":                     {[]byte{}, codeInvalidRecord},
		"null":                        {nil, codeInvalidRecord},
		"fewer records than it says":  {changed(two, setInt32(atCount, 3)), codeInvalidRecord},
		"more records than it says":   {changed(two, setInt32(atCount, 1)), codeInvalidRecord},
		"very many records, it says":  {changed(two, setInt32(atCount, 1<<30)), codeInvalidRecord},
		"no records":                  {emptyBatch(two), codeInvalidRecord},
		"without its last byte":       {two[:len(two)-1], codeInvalidRecord},
		"a control batch":             {batchOf(batchForm{control: true}, record{value: []byte("v")}), codeUnsupportedVersion},
		"a wrong CRC behind a batch":  {slices.Concat(two, wrongCRC(two)), codeInvalidRecord},
		"garbage":                     {bytes.Repeat([]byte{0xa5}, 200), codeCorrupt},
		"a negative timestamp":        {stamped(1, -2), codeInvalidTimestamp},
		"larger than the topic takes": {sized(t, maxMessageBytes+1), codeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			topic := gw.newTopic(t, 3)
			resp := ask[*kmsg.ProduceResponse](c, produceRequest(
				part{topic: topic, partition: 0, records: two},
				part{topic: topic, partition: 1, records: tc.records},
				part{topic: topic, partition: 2, records: two}))
			want := []string{topic + "/0: 0 at 0", fmt.Sprintf("%s/1: %d at -1", topic, tc.code), topic + "/2: 0 at 0"}
			if diff := cmp.Diff(want, producedTo(resp)); diff != "" {
				t.Error(diff)
			}
			for partition, want := range []int{2, 0, 2} {
				if got := len(c.fetchAll(topic, int32(partition))); got != want {
					t.Errorf("partition %d holds %d records, want %d", partition, got, want)
				}
			}
		})
	}
}

// Each timestamp comes back as it was sent, none and the first of all times too, whatever the codec.
func TestProduceSmallTimestamps(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	sent := []int64{-1, 0, 1, -1, time.Now().UnixMilli(), 1, 0, -1}
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		topic := gw.newTopic(t, 1)
		rs := make([]record, len(sent))
		for i := range rs {
			rs[i] = record{timestamp: sent[i], value: []byte("v")}
		}
		c.produce(topic, 0, batchOf(batchForm{codec: codec}, rs...))
		var got []int64
		for _, r := range c.fetchAll(topic, 0) {
			got = append(got, r.timestamp)
		}
		if !slices.Equal(got, sent) {
			t.Errorf("%v: sent %d, got %d", codec, sent, got)
		}
	}
}

// foreignFrames are the same records as other programs compress them; "records" holds them as they are.
func foreignFrames(tb testing.TB, pattern string) (frames map[string][]byte, count int32, plain []byte) {
	tb.Helper()
	const folder = "../../../recordcodec/testdata/frames"
	plain, err := os.ReadFile(filepath.Join(folder, "records"))
	if err != nil {
		tb.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(names) < 5 {
		tb.Fatal(names, err)
	}
	frames = map[string][]byte{}
	for _, name := range names {
		if frames[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			tb.Fatal(err)
		}
	}
	return frames, 1500, plain
}

// framed puts compressed records into a batch.
func framed(codec recordcodec.Codec, count int32, records []byte) []byte {
	b := slices.Concat(stamped(1_700_000_000_000)[:recordcodec.HeaderSize], records)
	return changed(b, func(b []byte) {
		setInt32(atLength, int32(len(b)-12))(b)
		setInt32(atCount, count)(b)
		setInt32(atLastDelta, count-1)(b)
		b[atAttributes+1] = byte(codec)
	})
}

// LZ4 frames of every valid shape are read: linked and independent blocks, small and large ones, with and without
// checksums and sizes, several in a row, and with the header checksum that old clients got wrong (KAFKA-3160).
func TestProduceLZ4Frames(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	frames, count, plain := foreignFrames(t, "*.lz4")
	old := bytes.Clone(frames["independent.lz4"])
	old[6] ^= 0xff
	frames["wrong header checksum"] = old
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, framed(recordcodec.CodecNone, count, plain))
	want := c.fetchAll(topic, 0)
	for name, frame := range frames {
		topic := gw.newTopic(t, 1)
		c.produce(topic, 0, framed(recordcodec.CodecLZ4, count, frame))
		if got := c.fetchAll(topic, 0); !reflect.DeepEqual(want, got) { // cmp takes its time with so many
			t.Errorf("%s: %d other records", name, len(got))
		}
		damaged := produceRequest(part{topic: topic, records: framed(recordcodec.CodecLZ4, count, frame[:len(frame)-9])})
		if got := ask[*kmsg.ProduceResponse](c, damaged).Topics[0].Partitions[0]; got.ErrorCode != codeCorrupt {
			t.Errorf("%s, cut: error %d", name, got.ErrorCode)
		}
	}
}

// What is served has independent blocks of 64 KiB at most, which every client reads.
func TestFetchLZ4Frames(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.FetchCompression = recordcodec.CodecLZ4 }})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: 1, value: make([]byte, 500_000)}))
	b := c.fetchOne(part{topic: topic}).RecordBatches
	frame := b[recordcodec.HeaderSize:]
	const magic, independent, blockSize64K = 0x184d2204, 0x20, 4
	if binary.LittleEndian.Uint32(frame) != magic || frame[4]&independent == 0 || frame[5]>>4 != blockSize64K {
		t.Errorf("frame begins with %x", frame[:8])
	}
}

// Five requests in flight that arrive out of order: what does not follow is refused, what follows is written, and so the
// order stands once the refused ones have been sent again (max.in.flight.requests.per.connection is 5 at most for that).
func TestProduceReordered(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	send := func(sequences ...int32) (codes []int16) {
		reqs := make([]kmsg.Request, len(sequences))
		for i, sequence := range sequences {
			b := batchOf(batchForm{producer: &producer{id: 42, sequence: sequence}}, record{timestamp: 1, value: []byte(fmt.Sprint(sequence))})
			reqs[i] = produceRequest(part{topic: topic, records: b})
		}
		c.send(reqs...)
		for range reqs {
			codes = append(codes, next[*kmsg.ProduceResponse](c).Topics[0].Partitions[0].ErrorCode)
		}
		return codes
	}
	if got, want := send(0, 2, 1, 3, 4), []int16{0, codeOutOfOrder, 0, codeOutOfOrder, codeOutOfOrder}; !slices.Equal(got, want) {
		t.Errorf("out of order: %d, want %d", got, want)
	}
	if got, want := send(2, 3, 4), []int16{0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("again: %d, want %d", got, want)
	}
	// All of them again, as after a connection that was lost with all answers.
	if got, want := send(0, 1, 2, 3, 4), []int16{0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("all again: %d, want %d", got, want)
	}
	if got := strings.Join(values(c.fetchAll(topic, 0)), " "); got != "0 1 2 3 4" {
		t.Errorf("written: %s", got)
	}
}

// The same batch at the same time on several connections is written once, and each is told where.
func TestProduceDuplicatesAtOnce(t *testing.T) {
	gw := shared(t)
	topic := gw.newTopic(t, 1)
	gw.dial(t).produce(topic, 0, batch("before"))
	b := sequenced(producer{id: 43, sequence: 7}, 3)
	clients := make([]*client, 8)
	for i := range clients {
		clients[i] = gw.dial(t)
		clients[i].send(produceRequest(part{topic: topic, records: b}), produceRequest(part{topic: topic, records: b}))
	}
	for _, c := range clients {
		for range 2 {
			got := next[*kmsg.ProduceResponse](c).Topics[0].Partitions[0]
			if got.ErrorCode != 0 || got.BaseOffset != 1 || got.LogAppendTime != -1 && got.LogAppendTime != 1007 {
				t.Errorf("%+v", got)
			}
		}
	}
	if got := gw.dial(t).fetchAll(topic, 0); len(got) != 4 {
		t.Errorf("%d records", len(got))
	}
}

// A record of 2 MiB for a topic that takes 50 KiB.
func TestProduceAboveTopicLimit(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1, "max.message.bytes", "51200")
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		value := make([]byte, 2<<20)
		if codec != recordcodec.CodecNone { // compressed it must still be too large
			for i := range value {
				value[i] = byte(i * i >> (i % 7))
			}
		}
		b := batchOf(batchForm{codec: codec}, record{timestamp: 1, value: value})
		got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: b})).Topics[0].Partitions[0]
		if want := map[bool]int16{true: codeTooLarge}[len(b) > 51200]; got.ErrorCode != want {
			t.Errorf("%v, %d bytes: error %d, want %d", codec, len(b), got.ErrorCode, want)
		}
	}
}
