// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// naive is a partition that remembers everything: each message by its place, and the batches of each producer.
type naive struct {
	log     []naiveMessage
	batches map[int64][]naiveBatch
}

type naiveMessage struct {
	producer int64
	epoch    int16
	sequence int32
}

type naiveBatch struct {
	Batch
	base int64
}

// next counts as Kafka does: increment, and begin anew after the largest.
func next(sequence int32, by int64) int32 {
	for range by {
		if sequence == math.MaxInt32 {
			sequence = 0
			continue
		}
		sequence++
	}
	return sequence
}

func (n *naive) judge(b Batch) (Verdict, int64) {
	all := n.batches[b.Producer]
	if len(all) == 0 {
		return Write, 0
	}
	last := all[len(all)-1]
	if b.Epoch < last.Epoch {
		return InvalidEpoch, 0
	}
	for i := len(all) - 1; i >= max(0, len(all)-5); i-- {
		if all[i].Batch == b {
			return Duplicate, all[i].base
		}
	}
	switch {
	case b.Epoch > last.Epoch && b.First == 0, b.Epoch == last.Epoch && b.First == next(last.Last, 1):
		return Write, 0
	}
	return OutOfOrder, 0
}

func (n *naive) write(b Batch) (base int64) {
	base = int64(len(n.log))
	for i := range b.Count() {
		n.log = append(n.log, naiveMessage{b.Producer, b.Epoch, next(b.First, i)})
	}
	n.batches[b.Producer] = append(n.batches[b.Producer], naiveBatch{b, base})
	return base
}

// readBack is a new state from the log, as after a restart.
func (n *naive) readBack() *Partition {
	p := New(100, time.Hour).Partition()
	for offset, m := range n.log {
		p.Seen(Batch{m.producer, m.epoch, m.sequence, m.sequence}, int64(offset), 0, time.Time{})
	}
	return p
}

// Random producers that go on, repeat, skip, reorder, restart and change epochs get the verdicts of the naive one. After a
// restart what was a duplicate still is, at the same place, and what was next still is; nothing that is written is written again.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := &naive{batches: map[int64][]naiveBatch{}}
		p := New(100, time.Hour).Partition()
		fresh := true // p has seen all batches written
		for step := range 150 {
			producer := int64(r.IntN(4))
			b := Batch{Producer: producer, First: []int32{0, math.MaxInt32 - int32(r.IntN(8))}[r.IntN(2)]}
			if all := n.batches[producer]; len(all) > 0 {
				last := all[len(all)-1]
				b.Epoch = last.Epoch
				switch r.IntN(10) {
				case 0, 1, 2: // a repeated one
					b = all[max(0, len(all)-1-r.IntN(7))].Batch
				case 3: // anything
					b.Epoch += int16(r.IntN(3) - 1)
					b.First = next(last.First, int64(r.IntN(6)))
				case 4: // a new epoch
					b.Epoch, b.First = b.Epoch+1, 0
				default:
					b.First = next(last.Last, 1)
				}
			}
			if b.Last == 0 {
				b.Last = next(b.First, int64(r.IntN(5)))
			}
			want, at := n.judge(b)
			p.Gather()
			got, place := p.Judge(b, time.Time{})
			switch {
			case !fresh && want == OutOfOrder && got == Duplicate:
				// Read back, no one knows where batches began: it has to be there all the same.
				for i := range b.Count() {
					if n.log[place.Offset+i] != (naiveMessage{b.Producer, b.Epoch, next(b.First, i)}) {
						t.Fatalf("seed %d step %d: %v is not at %d", seed, step, b, place.Offset)
					}
				}
			case got != want || place.Offset != at:
				t.Fatalf("seed %d step %d: %v: %v at %d, want %v at %d", seed, step, b, got, place.Offset, want, at)
			}
			if want == Write {
				p.Written(b, n.write(b), 0, time.Time{})
			}
			if r.IntN(40) == 0 {
				p, fresh = n.readBack(), false
			}
		}
	}
}

// The state is bounded and consistent whatever is seen: nothing panics, places lie before the end, samples are sorted.
func FuzzSeen(f *testing.F) {
	f.Add([]byte{1, 0, 0, 5, 1, 0, 6, 9, 2, 1, 255, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		table := New(4, time.Hour)
		p := table.Partition()
		offset := int64(0)
		script = script[:min(len(script), 4000)]
		for ; len(script) >= 4; script = script[4:] {
			first := int32(int8(script[2])) * 16 & math.MaxInt32
			b := Batch{Producer: int64(script[0] % 8), Epoch: int16(int8(script[1])), First: first, Last: next(first, int64(script[3]%16))}
			switch script[1] % 5 {
			case 0:
				p.Void(offset / 2)
				offset /= 2
			case 1:
				p.Failed(b, time.Time{})
			case 2:
				p.Gather()
				if v, at := p.Judge(b, time.Time{}); v == Duplicate && at.Offset+b.Count() > offset {
					t.Fatalf("%v at %d, the end is %d", b, at.Offset, offset)
				}
			default:
				p.Seen(b, offset, 0, time.Time{})
				offset += b.Count()
			}
			if table.Len() > 4 {
				t.Fatalf("%d entries", table.Len())
			}
			before := int64(0)
			for i, s := range p.Samples() {
				if s.Offset >= offset || s.Offset < before {
					t.Fatalf("sample %d: %v, the end is %d", i, s, offset)
				}
				before = s.Offset
			}
		}
	})
}

func BenchmarkJudgeAndWritten(b *testing.B) {
	table := New(100_000, time.Hour)
	p := table.Partition()
	now := time.Now()
	const producers = 1000
	var sequence [producers]int32
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := i % producers
		batch := Batch{Producer: int64(id), First: sequence[id], Last: next(sequence[id], 9)}
		sequence[id] = next(batch.Last, 1)
		p.Gather()
		if v, _ := p.Judge(batch, now); v != Write {
			b.Fatal(v)
		}
		p.Written(batch, int64(i)*10, 0, now)
	}
}
