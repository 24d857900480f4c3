// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import (
	"cmp"
	"slices"
	"time"
)

// Verdict says what is to be done with a batch.
type Verdict uint8

// The verdicts.
const (
	Write        Verdict = iota
	Duplicate            // written before: answer where
	OutOfOrder           // Kafka: OUT_OF_ORDER_SEQUENCE_NUMBER
	InvalidEpoch         // Kafka: INVALID_PRODUCER_EPOCH
	Wait                 // depends on whether an earlier batch of the same gathering gets written: ask again then
)

// Partition is the state of one partition's producers. Its owner judges batches in gatherings that are written together, and
// reports what became of them:
//
//	Gather, Judge, Judge, ... Gathered, then Written for each in order, or Failed
type Partition struct {
	table *Table

	// Guarded by the table's mutex.
	producers map[int64]*entry
	gathering uint64 // above 0; that of an entry with nothing pending is another
}

// Place is where a duplicate was written.
type Place struct {
	Offset int64
	// MaxTimestamp is the largest record timestamp, in ms, of the batch, or of the run of messages that it was found in.
	MaxTimestamp int64
}

// Gather begins a gathering. Its producers are not forgotten before Gathered, lest a batch and its retry be judged apart.
func (p *Partition) Gather() { p.nextGathering() }

// Gathered ends a gathering: all is judged, and nothing is pending any more.
func (p *Partition) Gathered() { p.nextGathering() }

func (p *Partition) nextGathering() {
	p.table.mu.Lock()
	p.gathering++
	p.table.mu.Unlock()
}

// Judge says what is to be done with b, given what is known and the batches of this gathering that it said to write. The place
// is a duplicate's.
func (p *Partition) Judge(b Batch, now time.Time) (Verdict, Place) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	e := p.table.get(p, b.Producer, now)
	if e.isPending() {
		if b.Epoch != e.pending.epoch || !follows(e.pending.last, b.First) {
			return Wait, Place{}
		}
		e.pending.last = b.Last
		return Write, Place{}
	}
	verdict, place := e.judge(b)
	switch verdict {
	case Write:
		e.pending.gathering, e.pending.epoch, e.pending.last = p.gathering, b.Epoch, b.Last
	case Duplicate:
		e.settle(b)
	}
	return verdict, place
}

// Written remembers a batch that was written at base, behind all others.
func (p *Partition) Written(b Batch, base, maxTimestamp int64, now time.Time) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	e := p.table.get(p, b.Producer, now)
	e.add(b.Epoch, piece{first: b.First, last: b.Last, base: base, maxTimestamp: maxTimestamp})
	e.told.set = false
	e.settle(b)
}

// Seen remembers messages read back from the partition: b's are at base and behind, and those of earlier offsets have
// been seen before. It need not be a whole batch. What tells nothing new is left out: an older epoch, or
// sequence numbers that are not after the last known, which a send executed twice leaves behind.
func (p *Partition) Seen(b Batch, base, maxTimestamp int64, now time.Time) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	e := p.table.get(p, b.Producer, now)
	if b.Epoch < e.epoch {
		return
	}
	if b.Epoch == e.epoch && e.n > 0 {
		last := e.last()
		if !after(b.Last, last.last) {
			e.reached(b.Epoch, b.Last)
			return
		}
		if last.run && last.end() == base && follows(last.last, b.First) {
			last.last, last.maxTimestamp = b.Last, max(last.maxTimestamp, maxTimestamp)
			e.reached(b.Epoch, b.Last)
			return
		}
	}
	e.add(b.Epoch, piece{first: b.First, last: b.Last, run: true, base: base, maxTimestamp: maxTimestamp})
}

// Acknowledged notes that the producer was told that b is written, which is to be seen yet: if it is not, it is lost.
func (p *Partition) Acknowledged(b Batch, now time.Time) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	e := p.table.get(p, b.Producer, now)
	e.tell(b.Epoch, b.Last)
	e.settle(b)
}

// Failed notes that b was not written, or perhaps not, and that its producer may send it again. As long as nothing is known of
// the producer, its batches behind b are out of order until then: one of them, which may have been in flight already, would
// else be taken for the producer's beginning, and b refused for ever. KIP-890 does the same for the first batches of a
// transaction (Kafka's VerificationStateEntry.lowestSequence). Of a producer that is known the order says it all, but it may
// become unknown: see Void.
func (p *Partition) Failed(b Batch, now time.Time) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	e := p.table.get(p, b.Producer, now)
	if !e.failed.set || b.Epoch > e.failed.epoch || e.failed.behind(b.Epoch, b.First) {
		e.failed = mark{set: true, epoch: b.Epoch, sequence: b.First}
	}
}

// Void forgets the batches that do not end before offset end: the partition went back to there, or to some place behind, from
// where it is to be read again. Producers that lost something may begin anywhere.
func (p *Partition) Void(end int64) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	for _, e := range p.producers {
		for e.n > 0 && e.last().end() > end {
			e.tell(e.epoch, e.last().last)
			e.n--
		}
	}
}

// Sample is a message that the partition held when it was last looked at.
type Sample struct {
	Offset   int64
	Producer int64
	Epoch    int16
	Sequence int32
}

// Samples returns the last message of each batch that is remembered, by offset.
func (p *Partition) Samples() []Sample {
	out := p.samples()
	slices.SortFunc(out, func(a, b Sample) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}

func (p *Partition) samples() (out []Sample) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	for _, e := range p.producers {
		for i := range e.n {
			last := &e.pieces[i]
			out = append(out, Sample{Offset: last.end() - 1, Producer: e.producer, Epoch: e.epoch, Sequence: last.last})
		}
	}
	return out
}

// State is what DescribeProducers tells of a producer.
type State struct {
	Producer     int64
	Epoch        int16
	LastSequence int32
	MaxTimestamp int64 // of its last batch, in ms
}

// States returns the producers of which something is known, by id.
func (p *Partition) States() []State {
	out := p.states()
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.Producer, b.Producer) })
	return out
}

func (p *Partition) states() []State {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	out := make([]State, 0, len(p.producers))
	for _, e := range p.producers {
		if e.n > 0 {
			last := e.last()
			out = append(out, State{Producer: e.producer, Epoch: e.epoch, LastSequence: last.last, MaxTimestamp: last.maxTimestamp})
		}
	}
	return out
}

// Drop forgets the partition, which can be used anew.
func (p *Partition) Drop() {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	for _, e := range p.producers {
		p.table.unlink(e)
		p.table.n--
	}
	p.producers = nil
}
