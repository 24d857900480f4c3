// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import "time"

// remembered is how many of a producer's batches a partition remembers: Kafka's ProducerStateEntry.NUM_BATCHES_TO_RETAIN, and
// the most that an idempotent client has in flight.
const remembered = 5

// noEpoch is the epoch of a producer of whom nothing is known: Kafka's RecordBatch.NO_PRODUCER_EPOCH. As there, a client that
// really sends it is never out of order.
const noEpoch = -1

// piece is what is remembered of consecutive messages of one producer: a batch, or a run, which may hold several.
type piece struct {
	first, last  int32
	run          bool
	base         int64 // the offset of first
	maxTimestamp int64
}

func (p *piece) end() int64 { return p.base + distance(p.first, p.last) + 1 }

// find returns where b lies in the piece.
func (p *piece) find(b Batch) (base int64, ok bool) {
	if !p.run {
		return p.base, p.first == b.First && p.last == b.Last
	}
	skip := distance(p.first, b.First)
	return p.base + skip, skip+b.Count() <= distance(p.first, p.last)+1
}

// entry is one producer in one partition. The table's mutex guards it.
type entry struct {
	partition *Partition
	producer  int64

	epoch  int16
	n      int               // pieces remembered
	pieces [remembered]piece // oldest first

	// told is the newest message that the producer was told is written, when none of the pieces has it: it is still to be seen,
	// or gone from the partition. Until it was seen, or one behind it, the producer may begin anywhere.
	told mark
	// failed is the first message of a batch whose producer was told that it failed, and may send it again. It may be written all
	// the same, and then be lost: only what the producer is told later takes the mark away, see settle.
	failed mark

	// pending: a batch that is about to be written, in the gathering of this number.
	pending struct {
		gathering uint64
		epoch     int16
		last      int32
	}

	used         time.Time
	older, newer *entry // in the table's order of use
}

// mark is a message of the entry's producer.
type mark struct {
	set      bool
	epoch    int16
	sequence int32
}

// behind reports that a message of that epoch and sequence number comes before the mark.
func (m *mark) behind(epoch int16, sequence int32) bool {
	return m.set && (epoch < m.epoch || epoch == m.epoch && after(m.sequence, sequence))
}

func (e *entry) last() *piece { return &e.pieces[e.n-1] }

// free reports that nothing is known that the producer's next batch has to follow.
func (e *entry) free() bool { return e.epoch == noEpoch || e.told.set || e.n == 0 }

// isPending reports that the partition is judging a gathering that this producer has a batch in.
func (e *entry) isPending() bool { return e.pending.gathering == e.partition.gathering }

// judge is the verdict on b when nothing of its producer is pending, and the place of a duplicate.
func (e *entry) judge(b Batch) (Verdict, Place) {
	if b.Epoch < e.epoch {
		return InvalidEpoch, Place{}
	}
	if b.Epoch == e.epoch {
		for i := e.n - 1; i >= 0; i-- {
			if base, ok := e.pieces[i].find(b); ok {
				return Duplicate, Place{Offset: base, MaxTimestamp: e.pieces[i].maxTimestamp}
			}
		}
	}
	var inOrder bool
	switch {
	case e.free():
		inOrder = !e.failed.set || b.Epoch != e.failed.epoch || !after(b.First, e.failed.sequence)
	case b.Epoch > e.epoch:
		inOrder = b.First == 0
	default:
		inOrder = follows(e.last().last, b.First)
	}
	if !inOrder {
		return OutOfOrder, Place{}
	}
	return Write, Place{}
}

// tell notes that the producer was told of a message that no piece has.
func (e *entry) tell(epoch int16, sequence int32) {
	if !e.told.behind(epoch, sequence) {
		e.told = mark{set: true, epoch: epoch, sequence: sequence}
	}
}

// add remembers a piece as the producer's newest.
func (e *entry) add(epoch int16, p piece) {
	if epoch != e.epoch {
		e.epoch, e.n = epoch, 0
	}
	if e.n == remembered {
		e.n = copy(e.pieces[:], e.pieces[1:])
	}
	e.pieces[e.n] = p
	e.n++
	e.reached(epoch, p.last)
	if first := e.pieces[0].first; e.n == remembered && !e.failed.behind(epoch, first) && e.failed.sequence != first {
		e.failed.set = false // with so many batches behind it, it is in flight no more
	}
}

// reached notes that the partition holds the producer's messages up to that one.
func (e *entry) reached(epoch int16, sequence int32) {
	e.told.set = e.told.behind(epoch, sequence)
}

// settle notes that the producer was told that b is written: it will not send it again, nor anything of an older epoch.
func (e *entry) settle(b Batch) {
	if e.failed.epoch < b.Epoch || e.failed.epoch == b.Epoch && b.has(e.failed.sequence) {
		e.failed.set = false
	}
}
