// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"io"
	"math/bits"
	"sync"
)

// Answers are read into buffers of power-of-two sizes that go back to a pool. A buffer larger than the largest
// class is left to the garbage collector, so that one huge answer is not kept for ever.
const (
	minBufferBits = 9  // 512 B
	maxBufferBits = 24 // 16 MiB
	// readStep bounds what a declared length alone may allocate: beyond it, memory grows only as bytes arrive.
	readStep = 1 << 20
)

// bufferPool hands out buffers by size class. The zero value is ready.
type bufferPool struct {
	classes [maxBufferBits - minBufferBits + 1]sync.Pool
}

// buffer is a pooled byte slice with one owner, who calls release once.
type buffer struct {
	b    []byte
	pool *sync.Pool
}

func (b *buffer) release() {
	if b != nil && b.pool != nil {
		b.pool.Put(b)
	}
}

// get returns a buffer of length n.
func (p *bufferPool) get(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minBufferBits)
	if class > maxBufferBits {
		return &buffer{b: make([]byte, n)}
	}
	pool := &p.classes[class-minBufferBits]
	if b, ok := pool.Get().(*buffer); ok {
		b.b = b.b[:n]
		return b
	}
	return &buffer{b: make([]byte, n, 1<<class), pool: pool}
}

// read fills a buffer with n bytes of r. A large n is not trusted: the buffer grows as the bytes come.
func (p *bufferPool) read(r io.Reader, n int) (*buffer, error) {
	have := min(n, readStep)
	buf := p.get(have)
	if _, err := io.ReadFull(r, buf.b); err != nil {
		buf.release()
		return nil, err
	}
	for have < n {
		next := min(n, 4*have)
		larger := p.get(next)
		copy(larger.b, buf.b)
		buf.release()
		buf = larger
		if _, err := io.ReadFull(r, buf.b[have:]); err != nil {
			buf.release()
			return nil, err
		}
		have = next
	}
	return buf, nil
}
