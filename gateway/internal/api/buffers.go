// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"math/bits"
	"sync"
)

// bufferPool lends byte slices of power-of-two capacities. Larger ones than the largest class are left to the garbage
// collector, so that one huge batch is not kept for ever. The zero value is ready.
type bufferPool struct {
	classes [maxClass - minClass + 1]sync.Pool
}

const (
	minClass = 10 // 1 KiB
	maxClass = 23 // 8 MiB
)

// get returns an empty slice with room for n bytes.
func (p *bufferPool) get(n int) []byte {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return make([]byte, 0, n)
	}
	if b, ok := p.classes[class-minClass].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// put takes a slice back, which may have grown since get.
func (p *bufferPool) put(b []byte) {
	class := bits.Len(uint(cap(b))) - 1 // every slice of the class has at least its size
	if class < minClass || class > maxClass {
		return
	}
	p.classes[class-minClass].Put(&b)
}
