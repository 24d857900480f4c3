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

	"github.com/twmb/franz-go/pkg/kmsg"
)

// blame lists the errors of which each refusal wraps exactly one.
func blame(err error) (n int) {
	for _, kind := range []error{
		ErrBadLength, ErrFrameTooLarge, ErrUnknownAPI, ErrUnsupportedVersion, ErrMalformed, ErrOverBudget,
	} {
		if errors.Is(err, kind) {
			n++
		}
	}
	return n
}

func seed(f *testing.F) {
	f.Helper()
	for _, m := range goldenMessages(f) {
		if m.Kind == "request" {
			f.Add(m.frame())
		}
	}
	for _, frame := range goldenFrames(f) {
		if len(frame.Req) < 1000 {
			f.Add([]byte(frame.Req))
		}
	}
	f.Add(fetchWithState(10))
	f.Add([]byte{0, 18, 0, 127, 0, 0, 0, 1, 0xff})
}

// FuzzDecode: nothing panics; a refusal has one reason; what is accepted costs no more than a frame of its size may, and
// what kmsg makes of it is accepted again and means the same.
func FuzzDecode(f *testing.F) {
	seed(f)
	table := NewTable(ServeAll())
	f.Fuzz(func(t *testing.T, frame []byte) {
		in, err := table.Inspect(frame)
		if err != nil {
			if blame(err) != 1 {
				t.Fatalf("refused without one reason: %v", err)
			}
			return
		}
		if in.Cost < requestCost || in.Cost > maxCost(len(frame)) {
			t.Fatalf("cost %d of %d bytes", in.Cost, len(frame))
		}
		req, err := in.Decode()
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("decoded with %v", err)
			}
			return
		}
		if req.AboveMax {
			return
		}
		h := header(req.Header.Key, req.Header.Version, in.layout)
		body := req.Body.AppendTo(nil)
		again, err := table.Decode(append(h, body...))
		if err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if twice := again.Body.AppendTo(nil); !stdbytes.Equal(body, twice) {
			t.Fatalf("encoded again:\n%x\nand again:\n%x", body, twice)
		}
	})
}

// FuzzReadFrame: nothing panics; a frame that is read has the length it said and is within the limits; a stream
// that cannot be read on has a reason.
func FuzzReadFrame(f *testing.F) {
	for _, frame := range goldenFrames(f)[:100] {
		f.Add(append(framed(frame.Req), framed(frame.Req)...))
	}
	table := NewTable()
	limits := Limits{MaxFrameSize: 1 << 16, SmallFrameSize: 1 << 12}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var pool Pool
		r := bufio.NewReaderSize(stdbytes.NewReader(stream), 16)
		for rest := len(stream); ; {
			p, err := table.ReadPreamble(r, limits)
			var frame *Buffer
			if err == nil {
				frame, err = p.ReadFrame(r, &pool)
			}
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF && blame(err) != 1 {
					t.Fatalf("ended without one reason: %v", err)
				}
				if (err == io.EOF) != (rest == 0) {
					t.Fatalf("%v with %d bytes left", err, rest)
				}
				return
			}
			api, _ := table.Lookup(p.Key)
			if len(frame.B) != int(p.Size) || p.Size > limits.For(api) {
				t.Fatalf("%d bytes of %d", len(frame.B), p.Size)
			}
			rest -= lengthSize + len(frame.B)
			frame.Release()
		}
	})
}

// naiveTags reads tagged fields without bounds: how many there are, and the bytes after them.
func naiveTags(b []byte) (n uint64, rest []byte, ok bool) {
	r := stdbytes.NewReader(b)
	n, err := binary.ReadUvarint(r)
	for i := uint64(0); err == nil && i < n; i++ {
		var size uint64
		if _, err = binary.ReadUvarint(r); err == nil {
			size, err = binary.ReadUvarint(r)
		}
		if err == nil && size > uint64(r.Len()) {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			_, err = r.Seek(int64(size), io.SeekCurrent)
		}
	}
	return n, b[len(b)-r.Len():], err == nil
}

// FuzzTags: tagged fields end where a naive reader says; more than 64, inside each other or not, are over budget.
func FuzzTags(f *testing.F) {
	for _, s := range []string{
		"", "\x00", "\x00rest", "\x01\x05\x02hi", "\x02\x00\x00\x01\x00rest", "\x40", "\x41", "\xff\xff\xff\xff\x0f",
		"\x01\x80\x80\x80\x80\x10\x00", "\x01\x01\xff\xff\xff\xff\x07", "\x80\x80\x80\x80\x80\x00",
		"\x01\x01\x0d" + "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00", // Fetch's replica state
		"\x01\x01\x0f" + "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x01\x07\x00",
	} {
		f.Add([]byte(s))
	}
	nested := replicaState()
	f.Fuzz(func(t *testing.T, b []byte) {
		plain := cursor{rest: b, tagsLeft: maxTags}
		plain.tags(nil)
		n, rest, ok := naiveTags(b)
		switch {
		case plain.err == nil && !(ok && n <= maxTags && stdbytes.Equal(plain.rest, rest)):
			t.Fatalf("%d tags were taken and %d bytes left; naively %d, %d, %v",
				maxTags-plain.tagsLeft, len(plain.rest), n, len(rest), ok)
		case plain.err != nil && blame(plain.err) != 1:
			t.Fatalf("refused without one reason: %v", plain.err)
		case plain.err == nil && plain.tagsLeft != maxTags-int(n):
			t.Fatalf("%d tags left of %d", plain.tagsLeft, n)
		}
		in := cursor{rest: b, tagsLeft: maxTags}
		in.tags(nested)
		if in.err == nil && (plain.err != nil || !stdbytes.Equal(in.rest, plain.rest) || in.tagsLeft > plain.tagsLeft || in.tagsLeft < 0) {
			t.Fatalf("with fields inside: %d bytes and %d tags left; without: %d, %d, %v",
				len(in.rest), in.tagsLeft, len(plain.rest), plain.tagsLeft, plain.err)
		}
	})
}

// FuzzHeader: a header that is taken is what kmsg's client writes, but for tagged fields, of which it writes none.
func FuzzHeader(f *testing.F) {
	for _, frame := range goldenFrames(f)[:50] {
		f.Add([]byte(frame.Req), frame.Version%2 == 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, flexible bool) {
		var version int8 = 1
		if flexible {
			version = 2
		}
		c := cursor{rest: b, tagsLeft: maxTags}
		var h Header
		h.read(&c, version)
		if c.err != nil {
			if blame(c.err) != 1 {
				t.Fatalf("refused without one reason: %v", c.err)
			}
			return
		}
		want := binary.BigEndian.AppendUint16(nil, uint16(h.Key))
		want = binary.BigEndian.AppendUint16(want, uint16(h.Version))
		want = binary.BigEndian.AppendUint32(want, uint32(h.CorrelationID))
		if h.ClientID != nil {
			want = binary.BigEndian.AppendUint16(want, uint16(len(*h.ClientID)))
			want = append(want, *h.ClientID...)
		} else {
			want = append(want, b[8:10]...) // any negative length is null
			if int16(binary.BigEndian.Uint16(b[8:])) >= 0 {
				t.Fatal("a client id was lost")
			}
		}
		if !stdbytes.HasPrefix(b, want) {
			t.Fatalf("%+v is not in %x", h, b)
		}
		rest := b[len(want):]
		if flexible {
			_, rest, _ = naiveTags(rest)
		}
		if !stdbytes.Equal(rest, c.rest) {
			t.Fatalf("%d bytes left, want %d", len(c.rest), len(rest))
		}
	})
}

// FuzzResponsePrefix: a prefix written for a body of some size is what AppendResponse writes before that body, and
// what stood before it is kept.
func FuzzResponsePrefix(f *testing.F) {
	for _, m := range goldenMessages(f) {
		if m.Kind == "response" {
			f.Add(m.Key, m.Version, int32(7), []byte("before"), []byte(m.Body))
		}
	}
	table := NewTable(ServeAll())
	f.Fuzz(func(t *testing.T, key, version int16, correlationID int32, before, body []byte) {
		_, lay, err := table.admit(key, version)
		if err != nil || lay == nil {
			return
		}
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(version)
		if resp.ReadFrom(body) != nil {
			return
		}
		req := Request{Header: Header{Key: key, Version: version, CorrelationID: correlationID}, respHeader: lay.respHeader}
		encoded := resp.AppendTo(nil)
		got := append(req.AppendResponsePrefix(before[:len(before):len(before)], len(encoded)), encoded...)
		if want := AppendResponse(before[:len(before):len(before)], correlationID, resp); !stdbytes.Equal(want, got) {
			t.Fatalf("%x, want %x", got, want)
		}
		length := int(binary.BigEndian.Uint32(got[len(before):]))
		if length != len(got)-len(before)-lengthSize || !stdbytes.HasPrefix(got, before) {
			t.Fatalf("length %d of %x", length, got)
		}
	})
}
