// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"errors"
	"fmt"
	"slices"
)

// errShortOutput says that decompressed data does not fit the room made for it.
var errShortOutput = errors.New("more data than declared")

// maxDecompressed bounds the size of what src decompresses to, without decompressing it.
func maxDecompressed(codec Codec, src []byte) (int, error) {
	switch codec {
	case CodecNone:
		return len(src), nil
	case CodecGzip:
		return gzipBound(src), nil
	case CodecSnappy:
		return snappyBound(src)
	case CodecLZ4:
		return lz4Bound(src)
	default:
		return zstdBound(src)
	}
}

// decompress decompresses src into a pooled buffer of at most limit bytes. bound is maxDecompressed's.
func (d *Decoder) decompress(codec Codec, src []byte, bound, limit int) (*buffer, error) {
	if codec == CodecGzip {
		return d.gunzip(src, bound, limit)
	}
	size := min(bound, limit)
	buf := d.buffers.get(size + zstdSlack)
	var n int
	var err error
	switch codec {
	case CodecSnappy:
		n, err = unsnappy(buf.b[:size], src)
	case CodecLZ4:
		n, err = unlz4(buf.b[:size], src)
	default:
		n, err = d.unzstd(buf, src, size)
	}
	buf.b = buf.b[:n]
	if err != nil {
		d.buffers.put(buf)
		if bound > limit {
			return nil, errOverLimit(codec, limit) // the output was made smaller than it may have to be
		}
		return nil, errCompressed(codec, err)
	}
	return buf, nil
}

// compress appends src, compressed, to dst.
func (e *Encoder) compress(codec Codec, dst, src []byte) ([]byte, error) {
	switch codec {
	case CodecGzip:
		return e.gzip(dst, src)
	case CodecSnappy:
		return snappyFramed(dst, src), nil
	case CodecLZ4:
		return e.lz4(dst, src)
	case CodecZstd:
		return e.zstd(dst, src)
	}
	return dst, fmt.Errorf("recordcodec: %v: %w", codec, ErrUnknownCodec)
}

func errCompressed(codec Codec, cause error) error {
	return fmt.Errorf("recordcodec: %v: %w: %w", codec, ErrCorrupt, cause)
}

func errOverLimit(codec Codec, limit int) error {
	return fmt.Errorf("recordcodec: %v: more than %d bytes decompressed: %w", codec, limit, ErrTooLarge)
}

// extend makes dst longer by n bytes of any content.
func extend(dst []byte, n int) []byte {
	return slices.Grow(dst, n)[:len(dst)+n]
}
