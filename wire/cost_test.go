// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package wire

// Under the race detector the compiler allocates more than it says here.

import (
	"bufio"
	stdbytes "bytes"
	"fmt"
	"math"
	"runtime"
	"testing"
)

// allocatedOnce returns how many bytes are allocated while f runs, by it or by others.
func allocatedOnce(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// allocated returns how many bytes f allocates: the least of a few runs.
func allocated(f func()) int64 {
	least := int64(math.MaxInt64)
	for range 3 {
		least = min(least, allocatedOnce(f))
	}
	return least
}

// Go's allocator gives no more than rounded says.
func TestRounded(t *testing.T) {
	for n := 0; n < 200_000; n += max(1, n/1000) {
		plain := cap(append([]byte(nil), make([]byte, n)...))
		pointers := 8 * cap(append([]*byte(nil), make([]*byte, n/8)...))
		if pointers > 512 {
			pointers += 8 // the allocator's own word before objects that hold pointers
		}
		if got := rounded(int64(n)); got < int64(plain) || got < int64(pointers) {
			t.Fatalf("%d bytes: %d, the allocator gives %d and %d", n, got, plain, pointers)
		}
	}
}

// The cost that Inspect tells is never below what decoding allocates.
func TestCost(t *testing.T) {
	table := NewTable(ServeAll())
	check := func(name string, frame []byte) {
		t.Helper()
		in, err := table.Inspect(frame)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		var decodeErr error
		if got := allocated(func() { _, decodeErr = in.Decode() }); got > in.Cost {
			t.Errorf("%s: %d bytes were allocated, cost %d, frame %d", name, got, in.Cost, len(frame))
		}
		if decodeErr != nil {
			t.Errorf("%s: %v", name, decodeErr)
		}
	}
	for _, m := range goldenMessages(t) {
		if _, _, err := table.admit(m.Key, m.Version); err == nil && m.Kind == "request" {
			check(m.String(), m.frame())
		}
	}
	eachLayout(t, func(t *testing.T, table *Table, r *row, version int16, lay *compiled) {
		for _, elements := range []int{1, 3, 8, 13} {
			frame := append(header(r.Key, version, lay), encode(nil, lay.fields, elements, 0)...)
			if _, err := table.Inspect(frame); err == nil {
				check(fmt.Sprint(elements, " elements"), frame)
			}
		}
		if n := count(lay.fields, tagged); n > 0 && n < 9 {
			check("tags", append(header(r.Key, version, lay), encode(nil, lay.fields, 1, 7)...))
		}
	})
	check("many coordinators", frameOf(coordinatorsOf(4096)))
	check("many topics", frameOf(metadataOf(100_000, 8)))
	check("many partition numbers", frameOf(offsetFetchOf(1_000_000)))
	check("tagged fields in a known tagged field", fetchWithState(maxTags-1))
}

// What is refused for its length, key or version has cost no memory.
func TestRefusedUnallocated(t *testing.T) {
	table := NewTable()
	r := bufio.NewReader(stdbytes.NewReader([]byte("\x7f\xff\xff\xff\x00\x00\x00\x09")))
	if got := allocated(func() { table.ReadPreamble(r, testLimits()) }); got > 1024 {
		t.Errorf("%d bytes", got)
	}
}

// FuzzCost: what is accepted allocates no more than Inspect says, which is no more than promised; what is refused
// allocates next to nothing.
func FuzzCost(f *testing.F) {
	seed(f)
	table := NewTable(ServeAll())
	f.Fuzz(func(t *testing.T, frame []byte) {
		in, err := table.Inspect(frame)
		limit := in.Cost
		if err != nil {
			limit = 1024 + int64(len(frame)) // the error's text, the client id
		}
		decode := func() {
			if in, err := table.Inspect(frame); err == nil {
				_, _ = in.Decode()
			}
		}
		if limit > 512<<10+9*int64(len(frame)) {
			t.Fatalf("cost %d, frame %d", limit, len(frame))
		}
		if allocatedOnce(decode) > limit {
			if got := allocated(decode); got > limit {
				t.Fatalf("%d bytes allocated, cost %d, frame %d: %v", got, in.Cost, len(frame), err)
			}
		}
	})
}
