// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
)

// maxDeflateRatio is the most that deflate can shrink: 258 bytes in two bits (zlib's technical details).
const maxDeflateRatio = 1032

func gzipBound(src []byte) int {
	if len(src) > math.MaxInt32/maxDeflateRatio {
		return math.MaxInt32
	}
	return len(src) * maxDeflateRatio
}

// gunzipper keeps a reader and its source together, so that one pool entry is all that a batch borrows.
type gunzipper struct {
	src  bytes.Reader
	z    gzip.Reader
	next [1]byte
}

// gunzip decompresses all members of src. The bound says nothing useful about a gzip stream, so the output begins with the size
// that the last member's trailer declares, if that can be, and grows from there.
func (d *Decoder) gunzip(src []byte, bound, limit int) (*buffer, error) {
	g := d.gunzippers.Get().(*gunzipper)
	defer d.gunzippers.Put(g)
	g.src.Reset(src)
	defer g.src.Reset(nil)
	if err := g.z.Reset(&g.src); err != nil {
		return nil, errCompressed(CodecGzip, err)
	}
	limit = min(limit, bound)
	size := 4 * len(src)
	if declared := binary.LittleEndian.Uint32(src[len(src)-4:]); uint64(declared) <= uint64(bound) {
		size = int(declared)
	}
	buf, err := d.inflate(g, d.buffers.get(min(size, limit)), limit)
	switch err {
	case io.EOF:
		return buf, nil
	case errShortOutput:
		err = errOverLimit(CodecGzip, limit)
	default:
		err = errCompressed(CodecGzip, err)
	}
	d.buffers.put(buf)
	return nil, err
}

// inflate reads all of g into buf, or into a larger buffer in its place, and returns how that ended: io.EOF is the stream's end.
func (d *Decoder) inflate(g *gunzipper, buf *buffer, limit int) (*buffer, error) {
	for {
		for room := min(cap(buf.b), limit); len(buf.b) < room; {
			n, err := g.z.Read(buf.b[len(buf.b):room])
			buf.b = buf.b[:len(buf.b)+n]
			if err != nil {
				return buf, err
			}
		}
		// Full: only another read tells whether the stream ends here.
		if _, err := io.ReadFull(&g.z, g.next[:]); err != nil {
			return buf, err
		}
		if len(buf.b) == limit {
			return buf, errShortOutput
		}
		larger := d.buffers.get(min(2*len(buf.b)+1, limit))
		larger.b = append(append(larger.b, buf.b...), g.next[0])
		d.buffers.put(buf)
		buf = larger
	}
}

// sliceWriter appends what is written to it.
type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// gzipper keeps a writer and its sink together.
type gzipper struct {
	dst sliceWriter
	z   *gzip.Writer
}

func newGzipper() *gzipper {
	g := new(gzipper)
	g.z = gzip.NewWriter(&g.dst)
	return g
}

// gzip appends src to dst as one member.
func (e *Encoder) gzip(dst, src []byte) ([]byte, error) {
	g := e.gzippers.Get().(*gzipper)
	defer e.gzippers.Put(g)
	g.dst.b = dst
	g.z.Reset(&g.dst)
	_, err := g.z.Write(src)
	if err == nil {
		err = g.z.Close()
	}
	dst, g.dst.b = g.dst.b, nil
	return dst, err
}
