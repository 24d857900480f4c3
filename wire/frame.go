// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	lengthSize = 4
	// minRequestSize is the smallest request header: key, version, correlation id.
	minRequestSize = 8
	// DefaultSmallFrameSize is the limit for APIs whose requests are never large, in bytes.
	DefaultSmallFrameSize = 1 << 20
)

// Limits bounds the length of frames, in bytes and without the length itself.
type Limits struct {
	// MaxFrameSize is for the APIs that carry much (API.LargeFrame).
	MaxFrameSize int32
	// SmallFrameSize is for all others; MaxFrameSize where that is smaller.
	SmallFrameSize int32
}

// For returns the limit for one API.
func (l Limits) For(api API) int32 {
	if api.LargeFrame {
		return l.MaxFrameSize
	}
	return min(l.MaxFrameSize, l.SmallFrameSize)
}

// Preamble is what the first eight bytes of a frame say, before anything is allocated for it.
type Preamble struct {
	// Size is the frame's length without the length field.
	Size    int32
	Key     int16
	Version int16
}

// ReadPreamble reads a frame's length and looks ahead at its API key and version. It checks all three, so that a
// frame that will not be served is neither allocated nor read. The reader is left at the first byte after the
// length, and must buffer at least 8 bytes.
//
// The error is io.EOF when the stream ends before a frame, io.ErrUnexpectedEOF when it ends within, the
// reader's own, or wraps ErrBadLength, ErrFrameTooLarge, ErrUnknownAPI or ErrUnsupportedVersion.
func (t *Table) ReadPreamble(r *bufio.Reader, limits Limits) (Preamble, error) {
	head, err := r.Peek(lengthSize)
	if err != nil {
		return Preamble{}, cutShort(err, len(head))
	}
	// The length alone is checked before more is waited for: a negative one may be all that the peer sent.
	size := int32(binary.BigEndian.Uint32(head))
	if size < minRequestSize {
		return Preamble{}, fmt.Errorf("wire: %w: %d", ErrBadLength, size)
	}
	if size > max(limits.MaxFrameSize, limits.SmallFrameSize) {
		return Preamble{}, fmt.Errorf("wire: %w: %d bytes", ErrFrameTooLarge, size)
	}
	if head, err = r.Peek(lengthSize + 4); err != nil {
		return Preamble{}, cutShort(err, len(head))
	}
	p := Preamble{
		Size:    size,
		Key:     int16(binary.BigEndian.Uint16(head[4:])),
		Version: int16(binary.BigEndian.Uint16(head[6:])),
	}
	row, _, err := t.admit(p.Key, p.Version)
	if err != nil {
		return p, err
	}
	if limit := limits.For(row.API); size > limit {
		return p, fmt.Errorf("wire: %w: %s of %d bytes, at most %d", ErrFrameTooLarge, row.Name, size, limit)
	}
	_, err = r.Discard(lengthSize)
	return p, err
}

// ReadFrame reads what ReadPreamble has announced into a buffer of the pool. The caller owns the buffer, and with
// it all bytes that the decoded request refers to, until it releases it.
func (p Preamble) ReadFrame(r io.Reader, pool *Pool) (*Buffer, error) {
	frame := pool.Get(int(p.Size))
	frame.B = frame.B[:p.Size]
	if n, err := io.ReadFull(r, frame.B); err != nil {
		frame.Release()
		return nil, cutShort(err, lengthSize+n)
	}
	return frame, nil
}

// cutShort turns the end of the stream after n bytes of a frame into io.ErrUnexpectedEOF.
func cutShort(err error, n int) error {
	if err == io.EOF && n > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
