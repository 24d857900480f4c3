// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"math/bits"
	"sync"
)

// Sizes of pooled buffers: four to a doubling, so that a buffer is at most a quarter larger than was asked for.
const (
	minBuffer     = 1 << 12
	maxBuffer     = 1 << 26 // larger ones are left to the garbage collector
	minShift      = 10      // bits.Len(minBuffer) - 3
	bufferClasses = 57      // classOf(maxBuffer) + 1
)

// A buffer is borrowed from a bufferPool; its owner may replace b by a larger slice.
type buffer struct{ b []byte }

// bufferPool is safe for concurrent use.
type bufferPool struct {
	classes [bufferClasses]sync.Pool
}

// classOf is the class whose buffers have the size, or the largest class below it.
func classOf(size int) int {
	shift := bits.Len(uint(size)) - 3
	return (shift-minShift)*4 + size>>shift - 4
}

// roundUp is the smallest class size that holds n bytes.
func roundUp(n int) int {
	if n <= minBuffer {
		return minBuffer
	}
	shift := bits.Len(uint(n-1)) - 3
	return ((n-1)>>shift + 1) << shift
}

// get returns an empty buffer with room for n bytes.
func (p *bufferPool) get(n int) *buffer {
	size := roundUp(n)
	if size > maxBuffer {
		return &buffer{make([]byte, 0, n)}
	}
	if buf, ok := p.classes[classOf(size)].Get().(*buffer); ok {
		return buf
	}
	return &buffer{make([]byte, 0, size)}
}

// put takes a buffer back that nobody points into any more.
func (p *bufferPool) put(buf *buffer) {
	if c := cap(buf.b); c >= minBuffer && c <= maxBuffer {
		buf.b = buf.b[:0]
		p.classes[classOf(c)].Put(buf)
	}
}
