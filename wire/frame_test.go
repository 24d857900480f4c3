// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	stdbytes "bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func testLimits() Limits { return Limits{MaxFrameSize: 8 << 20, SmallFrameSize: 1 << 20} }

// framed puts the length before a frame.
func framed(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

func TestReadPreamble(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   Preamble
		err    error
	}{
		{"fetch", "\x00\x00\x00\x08\x00\x01\x00\x04", Preamble{8, 1, 4}, nil},
		{"largest small", "\x00\x10\x00\x00\x00\x12\x00\x03", Preamble{1 << 20, 18, 3}, nil},
		{"above small", "\x00\x10\x00\x01\x00\x12\x00\x03", Preamble{1<<20 + 1, 18, 3}, ErrFrameTooLarge},
		{"largest large", "\x00\x80\x00\x00\x00\x00\x00\x03", Preamble{8 << 20, 0, 3}, nil},
		{"above large", "\x00\x80\x00\x01\x00\x00\x00\x03", Preamble{}, ErrFrameTooLarge},
		{"largest length", "\x7f\xff\xff\xff", Preamble{}, ErrFrameTooLarge},
		{"length 0", "\x00\x00\x00\x00", Preamble{}, ErrBadLength},
		{"length 7", "\x00\x00\x00\x07", Preamble{}, ErrBadLength},
		{"length -1", "\xff\xff\xff\xff", Preamble{}, ErrBadLength},
		{"lowest length", "\x80\x00\x00\x00", Preamble{}, ErrBadLength},
		{"key not served", "\x00\x00\x00\x08\x00\x44\x00\x01", Preamble{8, 68, 1}, ErrUnknownAPI},
		{"vendor's key", "\x00\x00\x00\x08\x7f\xff\x00\x00", Preamble{8, 32767, 0}, ErrUnknownAPI},
		{"version too low", "\x00\x00\x00\x08\x00\x00\x00\x02", Preamble{8, 0, 2}, ErrUnsupportedVersion},
		{"version too high", "\x00\x00\x00\x08\x00\x03\x00\x63", Preamble{8, 3, 99}, ErrUnsupportedVersion},
		{"ApiVersions above ours", "\x00\x00\x00\x08\x00\x12\x00\x7f", Preamble{8, 18, 127}, nil},
		{"nothing", "", Preamble{}, io.EOF},
		{"half a length", "\x00\x00", Preamble{}, io.ErrUnexpectedEOF},
		{"a length", "\x00\x00\x00\x08", Preamble{}, io.ErrUnexpectedEOF},
		{"half a key", "\x00\x00\x00\x08\x00", Preamble{}, io.ErrUnexpectedEOF},
	}
	table := NewTable()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := bufio.NewReader(stdbytes.NewReader([]byte(test.stream)))
			got, err := table.ReadPreamble(r, testLimits())
			if !errors.Is(err, test.err) || got != test.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// MaxFrameSize bounds the small ones too where it is smaller.
func TestLimits(t *testing.T) {
	l := Limits{MaxFrameSize: 1000, SmallFrameSize: DefaultSmallFrameSize}
	for _, api := range NewTable().APIs() {
		if got := l.For(api); got != 1000 {
			t.Errorf("%s: %d", api.Name, got)
		}
	}
}

// Frames come whole out of a stream that gives them in any pieces.
func TestReadFrame(t *testing.T) {
	var stream []byte
	var frames []string
	table := NewTable(ServeAll())
	for _, f := range goldenFrames(t) {
		if _, _, err := table.admit(f.Key, f.Version); err == nil {
			stream = append(stream, framed(f.Req)...)
			frames = append(frames, string(f.Req))
		}
	}
	for name, pieces := range map[string]func(io.Reader) io.Reader{
		"as asked":  func(r io.Reader) io.Reader { return r },
		"halves":    iotest.HalfReader,
		"one byte":  iotest.OneByteReader,
		"EOF early": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			var pool Pool
			r := bufio.NewReaderSize(pieces(stdbytes.NewReader(stream)), 16)
			var got []string
			for {
				p, err := table.ReadPreamble(r, testLimits())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				frame, err := p.ReadFrame(r, &pool)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(frame.B))
				frame.Release()
			}
			if diff := cmp.Diff(frames, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A stream that ends within a frame says so, wherever it ends.
func TestReadFrameCut(t *testing.T) {
	whole := framed([]byte("\x00\x03\x00\x00\x00\x00\x00\x01\xff\xff\x00\x00\x00\x00"))
	for n := 1; n < len(whole); n++ {
		r := bufio.NewReader(stdbytes.NewReader(whole[:n]))
		p, err := NewTable().ReadPreamble(r, testLimits())
		if err == nil {
			_, err = p.ReadFrame(r, new(Pool))
		}
		if err != io.ErrUnexpectedEOF {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestPool(t *testing.T) {
	var pool Pool
	for _, n := range []int{0, 1, 511, 512, 513, 4096, 4097, 1 << 22, 1<<22 + 1} {
		b := pool.Get(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Errorf("Get(%d): length %d, capacity %d", n, len(b.B), cap(b.B))
		}
		if n <= 1<<maxClass && cap(b.B) > max(2*n, 1<<minClass) {
			t.Errorf("Get(%d): capacity %d", n, cap(b.B))
		}
		b.Release()
	}
	// A buffer that its holder has let grow serves only what it is large enough for.
	for _, grown := range []int{100, 600, 1000, 5000, 70_000, 10 << 20} {
		b := pool.Get(1)
		b.B = append(b.B, make([]byte, grown)...)
		b.Release()
		for n := 1; n <= 1<<maxClass; n *= 2 {
			if b := pool.Get(n); len(b.B) != 0 || cap(b.B) < n {
				t.Fatalf("after %d: Get(%d): length %d, capacity %d", grown, n, len(b.B), cap(b.B))
			}
		}
	}
}

func TestAppendResponsePrefix(t *testing.T) {
	for _, test := range []struct {
		version int16
		want    string
	}{
		{11, "before\x00\x00\x00\x68\x00\x00\x00\x07"},
		{12, "before\x00\x00\x00\x69\x00\x00\x00\x07\x00"},
	} {
		table := NewTable()
		row, lay, err := table.admit(1, test.version)
		if err != nil {
			t.Fatal(err)
		}
		frame := append(header(row.Key, test.version, lay), encode(nil, lay.fields, 0, 0)...)
		req, err := table.Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(req.AppendResponsePrefix([]byte("before"), 100)); got != test.want {
			t.Errorf("v%d: %q", test.version, got)
		}
	}
}
