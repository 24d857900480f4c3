// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// A misused writer says so and leaves the slice as it was.
func TestWriterMisuse(t *testing.T) {
	type head = recordcodec.RecordHead
	for _, c := range []struct {
		name string
		use  func(w *recordcodec.BatchWriter)
	}{
		{"a header missing at the end", func(w *recordcodec.BatchWriter) { w.Begin(&head{HeaderCount: 1, HeaderBytes: 2}) }},
		{"a header missing between", func(w *recordcodec.BatchWriter) {
			w.Begin(&head{HeaderCount: 1, HeaderBytes: 2})
			w.Begin(&head{Offset: 1})
		}},
		{"a header too many", func(w *recordcodec.BatchWriter) {
			w.Begin(&head{})
			w.Header(nil, nil)
		}},
		{"header bytes that lie", func(w *recordcodec.BatchWriter) {
			w.Begin(&head{HeaderCount: 1, HeaderBytes: 3})
			w.Header(nil, nil)
		}},
		{"the same offset twice", func(w *recordcodec.BatchWriter) {
			w.Begin(&head{Offset: 5})
			w.Begin(&head{Offset: 5})
		}},
		{"an offset 2^31 after the first", func(w *recordcodec.BatchWriter) {
			w.Begin(&head{})
			w.Begin(&head{Offset: math.MaxInt32 + 1})
		}},
	} {
		for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
			t.Run(c.name+"/"+codec.String(), func(t *testing.T) {
				w := recordcodec.NewEncoder().Batch([]byte("before"), recordcodec.BatchOptions{Codec: codec})
				c.use(&w)
				if b, err := w.Finish(); !errors.Is(err, recordcodec.ErrInvalid) || string(b) != "before" {
					t.Errorf("%q, %v", b, err)
				}
			})
		}
	}
}

func TestWriterUnknownCodec(t *testing.T) {
	w := recordcodec.NewEncoder().Batch([]byte("before"), recordcodec.BatchOptions{Codec: 5})
	w.Begin(&recordcodec.RecordHead{})
	if b, err := w.Finish(); !errors.Is(err, recordcodec.ErrUnknownCodec) || string(b) != "before" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestWriterWithoutRecords(t *testing.T) {
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		w := recordcodec.NewEncoder().Batch([]byte("before"), recordcodec.BatchOptions{Codec: codec})
		if b, err := w.Finish(); err != nil || string(b) != "before" {
			t.Errorf("%v: %q, %v", codec, b, err)
		}
		w = recordcodec.NewEncoder().Batch(nil, recordcodec.BatchOptions{Codec: codec})
		w.Begin(&recordcodec.RecordHead{})
		w.Discard()
		w.Discard()
	}
}

// Size tells what Decode will find, and BeginWithin keeps it within a limit, to the byte.
func TestWriterSizes(t *testing.T) {
	e := recordcodec.NewEncoder()
	w, free := e.Batch(nil, recordcodec.BatchOptions{}), e.Batch(nil, recordcodec.BatchOptions{})
	for i := range 300 {
		value := []byte(strings.Repeat("v", i*i))
		r := recordcodec.RecordHead{Offset: int64(i * 1000), Timestamp: int64(i*i*i) - 5, Key: value[:i/2], Value: value}
		if i%2 == 0 {
			r.Key = nil
			r.HeaderCount = 1
			r.HeaderBytes = recordcodec.HeaderLen(value, nil)
		}
		free.Begin(&r)
		if i%2 == 0 {
			free.Header(value, nil)
		}
		whole := free.Size()
		if before := w.Size(); w.BeginWithin(&r, whole-1) || w.Size() != before || w.Len() != i {
			t.Fatalf("record %d was begun within %d bytes", i, whole-1)
		}
		if !w.BeginWithin(&r, whole) {
			t.Fatalf("record %d was not begun within %d bytes", i, whole)
		}
		if i%2 == 0 {
			w.Header(value, nil)
		}
		if w.Size() != whole {
			t.Errorf("record %d ends at %d bytes, not %d", i, w.Size(), whole)
		}
	}
	size := w.Size()
	b, err := w.Finish()
	if err != nil || len(b) != size {
		t.Fatalf("%d bytes, not %d, %v", len(b), size, err)
	}
	if batch, err := recordcodec.NewDecoder().Decode(b, wide); err != nil || batch.Len() != 300 {
		t.Error(batch, err)
	}
}

func TestCodecNames(t *testing.T) {
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		if got, err := recordcodec.ParseCodec(codec.String()); got != codec || err != nil {
			t.Errorf("%v is %v, %v", codec, got, err)
		}
	}
	for _, name := range []string{"", "uncompressed", "GZIP", "codec(5)"} {
		if _, err := recordcodec.ParseCodec(name); !errors.Is(err, recordcodec.ErrUnknownCodec) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Pools serve many goroutines, and what one decoded another never overwrites.
func TestConcurrentUse(t *testing.T) {
	d, e := recordcodec.NewDecoder(), recordcodec.NewEncoder()
	values := benchValues()
	done := make(chan error)
	const workers = 8
	for worker := range workers {
		codec := recordcodec.Codec(worker % 5)
		go func() {
			var err error
			for range 20 {
				var b *recordcodec.Batch
				if b, err = d.Decode(appendBench(t, e, nil, codec, values), wide); err != nil {
					break
				}
				i := 0
				for it := b.Records(); it.Next(); i++ {
					if string(it.Record.Value) != string(values[i]) {
						err = errors.New("another batch's record")
					}
				}
				b.Release()
			}
			done <- err
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
