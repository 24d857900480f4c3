// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	stdbytes "bytes"
	"errors"
	"io"
	"testing"
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
	f.Add(replicaState(100))
	f.Add([]byte{0, 18, 0, 127, 0, 0, 0, 1, 0xff})
}

// FuzzDecode: nothing panics; a refusal has one reason; what is accepted cost less to decode than was said, and
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
		if in.Cost < requestCost || in.Cost > int64(requestCost+200*len(frame)+maxTags*tagCost) {
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
