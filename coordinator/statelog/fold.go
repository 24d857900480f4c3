// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"strings"
	"time"
)

// fold is what the messages of one partition come to, taken in one by one in their order: the state, who owns the
// partition, and where the newest whole checkpoint begins. It is not safe for concurrent use.
type fold struct {
	// view is nil if only the owner and the checkpoint are asked for.
	view *view
	// owner wrote the newest owner record, writer is its id in records; what others write does not count. owned is false
	// until there was one.
	owner  owner
	writer writerID
	owned  bool
	// sequence is the highest of the owner's messages.
	sequence uint64
	// checkpoint is where the newest whole checkpoint begins, -1 if there is none, and checkpointAt when. begun is the
	// same of the one that is not whole.
	checkpoint, begun     int64
	checkpointAt, begunAt time.Time
	// since counts the records after the end of the newest whole checkpoint.
	since int
	// startedAt is the offset of the checkpoint that the fold began at, startedBy who wrote it, and whole says that its end
	// was seen.
	startedAt int64
	startedBy writerID
	whole     bool
	// parts holds the first parts of a record.
	parts partial
	// maxRecord bounds what the parts of one record may come to.
	maxRecord int
}

// partial is a record of which some parts are still to come.
type partial struct {
	writer      writerID
	next, count uint64
	data        strings.Builder
}

func newFold(v *view, maxRecord int) *fold {
	return &fold{view: v, checkpoint: -1, begun: -1, maxRecord: maxRecord}
}

// message takes in the next message. Errors: ErrCorrupt, ErrUnknownRecord.
func (f *fold) message(m *Message) error {
	writer, r, err := decodeRecord(string(m.Payload))
	if err != nil {
		return err
	}
	return f.decoded(m, writer, r)
}

// late says whether a message of the owner came behind newer ones of its: an append that had been given up on. Counted
// here, it would undo what was acknowledged since.
func (f *fold) late(m *Message, writer writerID) bool {
	return f.owned && writer == f.writer && m.Sequence <= f.sequence
}

// decoded takes in the next message, whose record that is.
func (f *fold) decoded(m *Message, writer writerID, r record) error {
	if f.late(m, writer) {
		return nil
	}
	if f.owned && writer == f.writer {
		f.sequence = m.Sequence
	}
	p, isPart := r.(part)
	if !isPart {
		// Parts before it whose last never came: their append was cut short, and nobody was told that it had succeeded.
		f.parts = partial{}
		f.record(m, writer, r)
		return nil
	}
	whole, err := f.part(writer, p)
	if err != nil || whole == "" {
		return err
	}
	w, r, err := decodeRecord(whole)
	if err != nil {
		return err
	}
	if _, nested := r.(part); nested || w != writer {
		return corrupt("the parts of a record are not one")
	}
	f.record(m, writer, r)
	return nil
}

// part takes in a part, and returns the record with the last one.
func (f *fold) part(writer writerID, p part) (string, error) {
	if p.index == 0 {
		f.parts = partial{writer: writer, count: p.count}
	}
	q := &f.parts
	switch {
	case p.index != q.next || p.count != q.count || writer != q.writer || p.index >= p.count:
		return "", corrupt("part %d of %d does not follow what is before it", p.index, p.count)
	case q.data.Len()+len(p.data) > f.maxRecord:
		return "", corrupt("the parts of a record come to more than %d bytes", f.maxRecord)
	}
	q.data.WriteString(p.data)
	if q.next++; q.next < q.count {
		return "", nil
	}
	whole := q.data.String()
	f.parts = partial{}
	if whole == "" {
		return "", corrupt("the parts of a record are empty")
	}
	return whole, nil
}

func (f *fold) record(m *Message, writer writerID, r record) {
	if o, ok := r.(owner); ok {
		f.own(o, m.Sequence)
	}
	if _, ok := r.(checkpointEnd); ok && writer == f.startedBy && m.Checkpoint == f.startedAt {
		f.whole = true // also if its writer was fenced just before: all the rest of it was there
	}
	if !f.owned || writer != f.writer {
		return // written by one who did not know yet that it was fenced, or that the log had lost its owner record
	}
	f.since++
	switch r := r.(type) {
	case checkpointBegin:
		if r.owner.bootID == f.owner.bootID {
			f.begun, f.begunAt = m.Offset, r.at
		}
	case checkpointEnd:
		// One whose begin was lost, by a storage that went back, ends nothing.
		if f.begun >= 0 && m.Checkpoint == f.begun {
			f.checkpoint, f.checkpointAt, f.since = f.begun, f.begunAt, 0
			f.begun = -1
		}
	default:
		if f.view != nil {
			f.view.apply(r)
		}
	}
}

// own takes in an owner record, and the number of its message.
func (f *fold) own(o owner, sequence uint64) {
	switch {
	case f.owned && o.term < f.owner.term:
		// An older owner may write its record again, when it has to mend the log and does not know of the newer one.
	case f.owned && o.bootID == f.owner.bootID:
		f.owner.term = o.term // it has learned of others since
	default:
		o.bootID = strings.Clone(o.bootID)
		f.owner, f.writer, f.owned, f.sequence = o, writerOf(o.bootID), true, sequence
		f.begun = -1 // nobody will end it
	}
}

// startAt makes the fold begin at a checkpoint, whose first message that must be.
func (f *fold) startAt(m *Message) error {
	writer, r, err := decodeRecord(string(m.Payload))
	if err != nil {
		return err
	}
	begin, ok := r.(checkpointBegin)
	if !ok || writer != writerOf(begin.owner.bootID) {
		return errNotWhole
	}
	f.own(begin.owner, 0) // the message itself is still to be taken in
	f.startedAt, f.startedBy = m.Offset, writer
	f.checkpoint, f.checkpointAt = m.Offset, begin.at
	return nil
}
