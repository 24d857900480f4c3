// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package wire

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// change is one way to spoil a frame: cut it to length bytes, then write with at a place in it or behind it. Some
// changes always make it bad; others may hit what is no length.
type change struct {
	length, at int
	with       string
	bad        bool
}

func (c change) apply(dst, frame []byte) []byte {
	dst = append(dst, frame[:c.length]...)
	if c.at+len(c.with) > len(dst) {
		return append(dst[:c.at], c.with...)
	}
	copy(dst[c.at:], c.with)
	return dst
}

// changes cuts a frame at every byte, blows up whatever stands at every byte (at some 400 places of a larger frame),
// and adds bytes at the end.
func changes(frame []byte) []change {
	step := len(frame)/400 + 1
	var out []change
	for n := range frame {
		out = append(out, change{length: n, at: n, bad: true})
	}
	for _, count := range []string{
		"\x7f\xff\xff\xff", "\x80\x00\x00\x00", "\xff\xff\xff\xfe", "\x00\x00\x10\x00", "\x7f\xff", "\xff", "\x7f", "\x41",
		"\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff\x01",
	} {
		for at := 4; at < len(frame); at += step {
			out = append(out, change{length: len(frame), at: at, with: count})
		}
	}
	for _, more := range []string{"\x00", "\xff", "\x01\x02\x03\x04\x05\x06\x07\x08"} {
		out = append(out, change{length: len(frame), at: len(frame), with: more})
	}
	return out
}

// decodeAll decodes the changed frames. Each must be refused for one reason, or taken if it need not be bad, within the
// promised memory: what all of them allocate is measured, and halved as long as that is more than one may.
func decodeAll(t *testing.T, table *Table, frame []byte, all []change) {
	t.Helper()
	scratch := make([]byte, 0, len(frame)+16)
	decode := func() {
		for _, c := range all {
			scratch = c.apply(scratch[:0], frame)
			if _, err := table.Decode(scratch); err == nil && c.bad || err != nil && blame(err) != 1 {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	if len(all) > 1 {
		if allocatedOnce(decode) > maxCost(0) {
			decodeAll(t, table, frame, all[:len(all)/2])
			decodeAll(t, table, frame, all[len(all)/2:])
		}
		return
	}
	if got := allocated(decode); got > maxCost(len(scratch)) {
		t.Errorf("%+v: %d bytes allocated, frame %d", all[0], got, len(scratch))
	}
}

// Requests of every API and version that are cut anywhere, with any length or count blown up, with bytes behind the
// end, with tagged fields at every level: none panics, none allocates more than promised.
func TestSpoiltRequests(t *testing.T) {
	golden := map[[2]int16][][]byte{}
	for _, m := range goldenMessages(t) {
		if m.Kind == "request" {
			id := [2]int16{m.Key, m.Version}
			golden[id] = append(golden[id], m.frame())
		}
	}
	eachLayout(t, func(t *testing.T, table *Table, r *row, version int16, lay *compiled) {
		frames := golden[[2]int16{r.Key, version}]
		for _, made := range []struct{ elements, tags int }{{1, 1}, {1, 8}, {3, 0}} {
			frames = append(frames, append(header(r.Key, version, lay), encode(nil, lay.fields, made.elements, made.tags)...))
		}
		for _, frame := range frames {
			decodeAll(t, table, frame, changes(frame))
		}
	})
	table := NewTable(ServeAll())
	state := fetchWithState(20)
	decodeAll(t, table, state, changes(state))
}

// padded puts a header before a body, and in it, where there can be one, a tagged field that fills the frame up to
// size: it costs nothing, and buys elements where these are counted by the frame's size.
func padded(key, version int16, lay *compiled, body []byte, size int) []byte {
	frame := header(key, version, lay)
	if missing := size - len(frame) - len(body); missing > 0 && lay.header == 2 {
		frame = append(frame[:len(frame)-1], 1, 99)
		frame = binary.AppendUvarint(frame, uint64(missing))
		frame = append(frame, make([]byte, missing)...)
	}
	return append(frame, body...)
}

// dearest returns accepted requests of a layout that are dear to decode: for APIs that bound elements by the frame's
// size, with arrays of n elements.
func dearest(table *Table, r *row, version int16, lay *compiled, n int) (frames [][]byte) {
	for _, many := range arrays(lay.fields) {
		for others := range 2 {
			for _, text := range []int{0, 1, 5, 17} {
				s := shape{many: many, n: maxElements, others: others, text: text}
				if r.manyPartitions {
					s.n = n
				}
				for ; s.n > 0; s.n /= 2 { // without manyPartitions, others' elements leave room for fewer
					s.elements = 0
					body := s.encode(nil, lay.fields)
					size := 0
					if r.manyPartitions {
						size = s.elements * bytesPerElement
					}
					frame := padded(r.Key, version, lay, body, size)
					if _, err := table.Inspect(frame); err == nil {
						frames = append(frames, frame)
						break
					}
				}
			}
		}
	}
	if n := count(lay.fields, tagged); n > 0 { // the most tagged fields in the most maps
		frames = append(frames, append(header(r.Key, version, lay), encode(nil, lay.fields, 1, maxTags/n)...))
	}
	return frames
}

// The dearest accepted requests of every API and version allocate no more than Inspect says, and that is no more than
// promised.
func TestDearestRequests(t *testing.T) {
	eachLayout(t, func(t *testing.T, table *Table, r *row, version int16, lay *compiled) {
		for _, frame := range dearest(table, r, version, lay, 2*maxElements) {
			in, err := table.Inspect(frame)
			if err != nil || in.Cost > 512<<10+9*int64(len(frame)) {
				t.Fatalf("cost %d, frame %d: %v", in.Cost, len(frame), err)
			}
			decode := func() {
				if _, err := in.Decode(); err != nil {
					t.Error(err)
				}
			}
			if allocatedOnce(decode) > in.Cost {
				if got := allocated(decode); got > in.Cost {
					t.Errorf("%d bytes allocated, cost %d, frame %d: %.60x", got, in.Cost, len(frame), frame)
				}
			}
		}
	})
}

// BenchmarkDearestRequest decodes the request that allocates the largest share of what it may, and names its API and
// version; B/op beside frame-B and promised-B.
func BenchmarkDearestRequest(b *testing.B) {
	table := NewTable(ServeAll())
	var name string
	var dear []byte
	var share float64
	for i := range table.rows {
		r := &table.rows[i]
		for v := r.Min; v <= r.Max; v++ {
			for _, frame := range dearest(table, r, v, r.layouts[v-r.Min], 16*maxElements) {
				got := allocatedOnce(func() { table.Decode(frame) })
				if s := float64(got) / float64(maxCost(len(frame))); s > share {
					name, dear, share = fmt.Sprintf("%s_v%d", r.Name, v), frame, s
				}
			}
		}
	}
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := table.Decode(dear); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(dear)), "frame-B")
		b.ReportMetric(float64(maxCost(len(dear))), "promised-B")
	})
}
