// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// firstTimestamp is some time in 2023, in ms, no whole second.
const firstTimestamp = 1_700_000_000_123

// plainRecords are n records that every client can write and read, with keys, headers and tombstones among them.
func plainRecords(n int) []clients.Record {
	records := make([]clients.Record, n)
	for i := range records {
		records[i] = clients.Record{
			Timestamp: firstTimestamp + int64(i),
			Key:       fmt.Appendf(nil, "key-%d", i%7),
			Value:     fmt.Appendf(nil, "value %d %s", i, strings.Repeat("abc", i%50)),
		}
		if i%3 == 0 {
			records[i].Headers = []clients.Header{{Name: "n", Value: fmt.Appendf(nil, "%d", i)}, {Name: "constant", Value: []byte("x")}}
		}
		if i%5 == 4 {
			records[i].Value = nil // a tombstone
		}
		if i%11 == 10 {
			records[i].Key = nil
		}
	}
	return records
}

// edgeRecords are what Iggy's own rules cannot express directly, and the borders around it.
func edgeRecords() []clients.Record {
	null, empty, text := []byte(nil), []byte{}, []byte("text")
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	var records []clients.Record
	for _, key := range [][]byte{null, empty, text} {
		for _, value := range [][]byte{null, empty, text} {
			for _, header := range [][]byte{null, empty, text} {
				records = append(records, clients.Record{Key: key, Value: value, Headers: []clients.Header{{Name: "h", Value: header}}})
			}
			records = append(records, clients.Record{Key: key, Value: value})
		}
	}
	records = append(records,
		clients.Record{Value: text, Headers: []clients.Header{{Name: "twice", Value: []byte("1")}, {Name: "between", Value: text}, {Name: "twice", Value: []byte("2")}}},
		clients.Record{Value: text, Headers: []clients.Header{{Name: "", Value: []byte("a header without a name")}}},
		clients.Record{Value: text, Headers: []clients.Header{{Name: "kafka.key", Value: []byte("not the key")}, {Name: "kafka.value", Value: []byte("null")}}},
		clients.Record{Value: text, Headers: []clients.Header{{Name: "grün", Value: everyByte[:255]}, {Name: "long", Value: everyByte}}},
		clients.Record{Value: text, Headers: []clients.Header{{Name: strings.Repeat("n", 300), Value: text}}},
		clients.Record{Value: text, Headers: manyHeaders(600)},
		clients.Record{Key: bytes.Repeat(text, 75), Value: everyByte},
		clients.Record{Key: everyByte[:255], Value: []byte{0}},
		clients.Record{Key: everyByte, Value: bytes.Repeat(everyByte, 400)},
	)
	for i := range records {
		records[i].Timestamp = firstTimestamp - int64(i%3) // also going backwards
	}
	return records
}

// manyHeaders has n headers with names of their own, together above Iggy's 100,000 bytes when n is 600.
func manyHeaders(n int) []clients.Header {
	headers := make([]clients.Header, n)
	for i := range headers {
		headers[i] = clients.Header{Name: fmt.Sprintf("h-%d", i), Value: bytes.Repeat([]byte{byte(i)}, 200)}
	}
	return headers
}

// at gives the records the offsets that they must have been stored under.
func at(first int64, records []clients.Record) []clients.Record {
	stored := make([]clients.Record, len(records))
	for i, r := range records {
		stored[i] = r
		stored[i].Offset = first + int64(i)
	}
	return stored
}

// expectRead reads all records of a partition with one client and compares them one by one.
func expectRead(t *testing.T, reader clients.Client, topic string, partition int, want []clients.Record) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("nothing to expect")
	}
	got, err := reader.Consume(within(t, limit), topic, partition, want[0].Offset, len(want))
	if err != nil {
		t.Errorf("%s reads %s/%d: %v", reader.Name(), topic, partition, err)
		return
	}
	if reader.Features().NullIsEmpty {
		want, got = emptyToNull(want), emptyToNull(got)
	}
	if diff := cmp.Diff(want, got, wholeBytes()); diff != "" {
		t.Errorf("%s reads %s/%d otherwise than written (-written +read):\n%s", reader.Name(), topic, partition, diff)
	}
}

// wholeBytes compares bytes at once, null apart from empty. By default cmp aligns them byte by byte, which takes seconds.
func wholeBytes() cmp.Option {
	return cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) })
}

// emptyToNull rubs out the difference for clients that do not see it.
func emptyToNull(records []clients.Record) []clients.Record {
	null := func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		return b
	}
	out := make([]clients.Record, len(records))
	for i, r := range records {
		r.Key, r.Value = null(r.Key), null(r.Value)
		var headers []clients.Header
		for _, h := range r.Headers {
			headers = append(headers, clients.Header{Name: h.Name, Value: null(h.Value)})
		}
		r.Headers = headers
		out[i] = r
	}
	return out
}
