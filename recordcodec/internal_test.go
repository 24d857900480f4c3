// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestVarints(t *testing.T) {
	for _, v := range []int64{0, -1, 1, 63, -64, 64, -65, 8191, -8192, 8192, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64} {
		b := appendVarint(nil, v)
		if want := binary.AppendVarint(nil, v); string(b) != string(want) {
			t.Errorf("%d is %x, not %x", v, b, want)
		}
		if len(b) != varintLen(v) {
			t.Errorf("%d takes %d bytes, not %d", v, len(b), varintLen(v))
		}
		if got, next := shortVarint(b, 0); len(b) <= 2 && (unzigzag(got) != v || next != uint(len(b))) || len(b) > 2 && next != nowhere {
			t.Errorf("%x is %d to %d, not %d, read as a short number", b, unzigzag(got), next, v)
		}
		if got, next := readVarint64(b, 0); got != v || next != len(b) {
			t.Errorf("%x is %d to %d, not %d", b, got, next, v)
		}
		if got, next := readVarint32(b, 0); v == int64(int32(v)) && (int64(got) != v || next != len(b)) {
			t.Errorf("%x is %d to %d, not %d, in 32 bits", b, got, next, v)
		}
		for n := range b {
			if _, next := readVarint64(b[:n], 0); next != -1 {
				t.Errorf("%x was read", b[:n])
			}
			if _, next := shortVarint(b[:n], 0); next != nowhere {
				t.Errorf("%x was read as a short number", b[:n])
			}
		}
	}
	if _, next := readVarint32([]byte{0}, -1); next != -1 {
		t.Error("a failed position was read")
	}
	if _, next := shortVarint([]byte{0}, nowhere); next != nowhere {
		t.Error("a number was read nowhere")
	}
	if _, next := readVarint64(nil, 1); next != -1 {
		t.Error("a position behind the end was read")
	}
}

// FuzzParseRecord: the ways to read a record find the same in any bytes, and find the same fault.
func FuzzParseRecord(f *testing.F) {
	for _, r := range []RecordHead{
		{},
		{Key: []byte{}, Value: []byte("v")},
		{Key: []byte("k"), Value: make([]byte, 63), HeaderCount: 1, HeaderBytes: 5},
		{Value: make([]byte, 64)},
		{Value: make([]byte, 8191)},
		{Value: make([]byte, 8192)},
	} {
		w := NewEncoder().Batch(nil, BatchOptions{})
		w.Begin(&RecordHead{})
		r.Offset, r.Timestamp = 8191+int64(len(r.Value)), 64-int64(len(r.Value))
		w.Begin(&r)
		if r.HeaderCount > 0 {
			w.Header([]byte("h"), []byte("vv"))
		}
		b, err := w.Finish()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[HeaderSize:], 0)
		f.Add(b[HeaderSize:], minRecord)
		f.Add(b[HeaderSize:len(b)-1], minRecord)
	}
	f.Fuzz(func(t *testing.T, b []byte, start int) {
		if start < 0 || start > len(b) {
			return
		}
		var want Record
		wantEnd, wantErr := parseRecord(b, start, &want)
		it := RecordIter{records: b, pos: start}
		if next := it.Next(); next != (wantErr == nil) {
			t.Fatalf("there is a next record: %v; %v", next, wantErr)
		}
		want.Timestamp = want.TimestampDelta
		if wantErr == nil && (it.pos != wantEnd || !reflect.DeepEqual(it.Record, want)) {
			t.Fatalf("%+v to %d, not %+v to %d", it.Record, it.pos, want, wantEnd)
		}
		timestampDelta, offsetDelta, headerCount, headers, end, err := skimRecord(b, start)
		if end != wantEnd || err != wantErr {
			t.Fatalf("skimmed to %d, %v, not %d, %v", end, err, wantEnd, wantErr)
		}
		if err == nil && (timestampDelta != want.TimestampDelta || offsetDelta != want.OffsetDelta || headerCount != want.HeaderCount ||
			headers != end-len(want.Headers)) {
			t.Fatalf("skimmed %d, %d, %d headers at %d, not %+v", timestampDelta, offsetDelta, headerCount, headers, want)
		}
	})
}

// Vectors of the reference implementation.
func TestXXH32(t *testing.T) {
	for text, want := range map[string]uint32{
		"":    0x02cc5d05,
		"a":   0x550d7456,
		"abc": 0x32d153ff,
		"Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if got := xxh32([]byte(text)); got != want {
			t.Errorf("%q: %08x, not %08x", text, got, want)
		}
	}
}

func TestBufferPool(t *testing.T) {
	if classOf(minBuffer) != 0 || classOf(maxBuffer) != bufferClasses-1 {
		t.Fatalf("the classes are %d to %d", classOf(minBuffer), classOf(maxBuffer))
	}
	var p bufferPool
	for _, n := range []int{0, 1, minBuffer, minBuffer + 1, 5000, 5120, 5121, 1<<20 - 1, 1 << 20, 1<<20 + 1, maxBuffer, maxBuffer + 1} {
		buf := p.get(n)
		if c := cap(buf.b); len(buf.b) != 0 || c < n || c > max(minBuffer, n+n/4) {
			t.Errorf("for %d bytes there is room for %d", n, c)
		}
		buf.b = append(buf.b, 1)
		p.put(buf)
	}
	// A buffer that grew to any size serves the class that it can serve.
	for c := minBuffer; c < 1<<16; c += 97 {
		p.put(&buffer{make([]byte, c)})
		if size := 4 << (classOf(c)/4 + minShift); size > c {
			t.Fatalf("%d bytes are in the class of %d", c, size)
		}
	}
	for n := minBuffer; n < 1<<16; n += 89 {
		if buf := p.get(n); cap(buf.b) < n {
			t.Fatalf("for %d bytes there is room for %d", n, cap(buf.b))
		}
	}
}

// A linked block refers to the 64 KiB before it, in whatever block, but never to another frame.
func TestLZ4Window(t *testing.T) {
	header := "\x04\x22\x4d\x18\x40\x40\x00"
	stored := func(s string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(s))|lz4Stored)) + s
	}
	// A match of 8 bytes that many bytes back, then five literals, as a block must end.
	match := func(back int) string {
		return "\x09\x00\x00\x00\x04" + string(binary.LittleEndian.AppendUint16(nil, uint16(back))) + "\x50vwxyz"
	}
	end := "\x00\x00\x00\x00"
	long := strings.Repeat("0123456789abcdef", lz4Window/16)
	for _, c := range []struct{ name, frames, want string }{
		{"the block before", header + stored("abcdefgh") + match(8) + end, "abcdefghabcdefghvwxyz"},
		{"two blocks before", header + stored("abcdefgh") + stored("--------") + match(16) + end, "abcdefgh--------abcdefghvwxyz"},
		{"as far as can be", header + stored("abcdefgh") + stored(long) + match(65535) + end, "abcdefgh" + long + "12345678vwxyz"},
		{"before the frame", header + stored("abcdefgh") + end + header + match(8) + end, ""},
		{"before the output", header + match(8) + end, ""},
		{"in an independent block", "\x04\x22\x4d\x18\x60\x40\x00" + stored("abcdefgh") + match(8) + end, ""},
		{"a dictionary", "\x04\x22\x4d\x18\x41\x40\x00\x00\x00\x00\x00" + end, ""},
		{"another version", "\x04\x22\x4d\x18\x80\x40\x00" + end, ""},
		{"blocks of 16 KiB", "\x04\x22\x4d\x18\x40\x30\x00" + end, ""},
		{"a block over the maximum", header + stored(long+"x") + end, ""},
		{"no end mark", header + stored("abcdefgh"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst := make([]byte, 1<<17)
			n, err := unlz4(dst, []byte(c.frames))
			if got := string(dst[:n]); c.want == "" && err == nil || c.want != "" && (err != nil || got != c.want) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}
