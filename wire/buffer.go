// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math/bits"
	"sync"
)

// Buffers are pooled by size class, the powers of two from 1<<minClass to 1<<maxClass bytes. Larger ones are rare
// and left to the garbage collector, so that a burst of them does not stay in the pool.
const (
	minClass = 9  // 512 B
	maxClass = 22 // 4 MiB
)

// Pool recycles the buffers of frames and answers. The zero Pool is ready and safe for concurrent use.
type Pool struct {
	classes [maxClass - minClass + 1]sync.Pool
}

// Buffer is a byte slice on loan from a Pool. Whoever holds it may append to B, and hands it back by Release.
type Buffer struct {
	B    []byte
	pool *Pool
}

// Get returns a buffer with length 0 and capacity n or more.
func (p *Pool) Get(n int) *Buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return &Buffer{B: make([]byte, 0, n), pool: p}
	}
	if b, ok := p.classes[class-minClass].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{B: make([]byte, 0, 1<<class), pool: p}
}

// Release hands the buffer back; neither it nor slices of B may be used afterwards.
func (b *Buffer) Release() {
	class := bits.Len(uint(cap(b.B))) - 1 // the largest class that the capacity, perhaps grown, fills
	if class < minClass || cap(b.B) > 1<<maxClass {
		return
	}
	b.B = b.B[:0]
	b.pool.classes[class-minClass].Put(b)
}
