// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"bytes"
	"encoding/binary"
	"errors"
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
	src bytes.Reader
	z   gzip.Reader
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
	if n := int64(binary.LittleEndian.Uint32(src[len(src)-4:])); n <= int64(bound) {
		size = int(n)
	}
	buf := d.buffers.get(min(size, limit))
	err := error(nil)
	for err == nil {
		if room := buf.b[len(buf.b):min(cap(buf.b), limit)]; len(room) > 0 {
			var n int
			n, err = g.z.Read(room)
			buf.b = buf.b[:len(buf.b)+n]
			continue
		}
		// No room: only another read tells whether the stream ends here.
		var next [1]byte
		if _, err = io.ReadFull(&g.z, next[:]); err != nil {
			break
		}
		if len(buf.b) == limit {
			err = errOverLimit(CodecGzip, limit)
			break
		}
		larger := d.buffers.get(min(2*len(buf.b)+1, limit))
		larger.b = append(append(larger.b, buf.b...), next[0])
		d.buffers.put(buf)
		buf = larger
	}
	if err == io.EOF {
		return buf, nil
	}
	d.buffers.put(buf)
	if errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	return nil, errCompressed(CodecGzip, err)
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
