// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// loaded is what reading a partition brought.
type loaded struct {
	*fold
	// from is where reading began, next the offset behind the last message, last the mark of that.
	from, next int64
	last       mark
}

// mark tells one message from others at its offset.
type mark uint64

func markOf(m *Message) mark {
	h := fnv.New64a()
	h.Write(m.Payload)
	return mark(h.Sum64())
}

// reader reads partitions of a log.
type reader struct {
	storage   Storage
	timeout   time.Duration
	messages  int
	maxRecord int
}

func newReader(cfg *Config) reader {
	return reader{storage: cfg.Storage, timeout: cfg.StorageTimeout, messages: cfg.ReadMessages, maxRecord: cfg.MaxRecord}
}

// load reads a partition from the newest whole checkpoint on, or from its beginning. newState returns nil if only the
// owner is asked for. Errors: those of the storage, ErrStateLost, ErrCorrupt, ErrUnknownRecord.
func (r *reader) load(ctx context.Context, partition int, newState func() *view) (loaded, error) {
	first, next, err := r.bounds(ctx, partition)
	if err != nil {
		return loaded{}, err
	}
	switch {
	case next == 0:
		return loaded{fold: newFold(newState(), r.maxRecord)}, nil
	case first >= next:
		return loaded{}, fmt.Errorf("%w: partition %d keeps no message, its next offset is %d", ErrStateLost, partition, next)
	}
	var void []int64 // what turned out to be no checkpoints
	from, err := r.checkpointNamed(ctx, partition, next, void)
	for err == nil {
		if err = kept(from, first); err != nil {
			break
		}
		var l loaded
		l, err = r.readFrom(ctx, partition, max(from, 0), next, newFold(newState(), r.maxRecord))
		switch {
		case errors.Is(err, errNotWhole):
			// The last messages were written by one who did not know yet that the log had gone back, and lost the checkpoint that
			// they name, or are late ones. Messages before them name another one, from which newer ones are found.
			void = append(void, from)
			from, err = r.checkpointNamed(ctx, partition, next, void)
		case err == nil && l.checkpoint > from && slices.Contains(void, l.checkpoint):
			err = errNotWhole // the records say that it is one, and then that it is none
		case err == nil && l.checkpoint > from:
			// There is a newer one than the last message names, if a fenced gateway wrote that. Only who begins at the newest one
			// knows that nothing of what it replaced is left.
			from, next = l.checkpoint, l.next
		case err == nil:
			return l, nil
		}
	}
	if permanent(err) {
		err = fmt.Errorf("partition %d: %w", partition, err)
	}
	return loaded{}, err
}

// kept says whether a log that keeps the messages from first on can be read from the checkpoint, -1 for none.
func kept(checkpoint, first int64) error {
	switch {
	case checkpoint < 0 && first > 0:
		return fmt.Errorf("%w: the first message kept is at offset %d, and there is no checkpoint", ErrStateLost, first)
	case checkpoint >= 0 && checkpoint < first:
		return fmt.Errorf("%w: the checkpoint at offset %d is gone, the first message kept is at %d", ErrStateLost, checkpoint, first)
	}
	return nil
}

// checkpointNamed returns the checkpoint, -1 for none, that the last message before next names, or the last one that names
// another than those that turned out to be void.
func (r *reader) checkpointNamed(ctx context.Context, partition int, next int64, void []int64) (int64, error) {
	for size := int64(1); next > 0; size = int64(r.messages) {
		from := max(next-size, 0)
		messages, err := r.read(ctx, partition, from, int(next-from))
		switch {
		case err != nil:
			return 0, err
		case len(messages) == 0:
			return 0, errWentBack
		}
		// If the storage returned only the first of them, they may name one that is further back than need be: load goes on
		// to the newest.
		for i := len(messages) - 1; i >= 0; i-- {
			if checkpoint := messages[i].Checkpoint; !slices.Contains(void, checkpoint) {
				return checkpoint, nil
			}
		}
		if messages[0].Offset > from {
			break // none are kept further back
		}
		next = from
	}
	return -1, nil
}

// errNotWhole: where a checkpoint should be there is none, or not all of it.
var errNotWhole = fmt.Errorf("%w: no whole checkpoint there", ErrCorrupt)

// While it was read, the partition became shorter, at its end or at its beginning. It may be read again.
var (
	errWentBack = errors.New("statelog: the partition went back while it was read")
	errDropped  = errors.New("statelog: messages were dropped while they were read")
)

// readFrom takes in messages from the offset on until there are no more, but those before next at least.
func (r *reader) readFrom(ctx context.Context, partition int, from, next int64, f *fold) (loaded, error) {
	l := loaded{fold: f, from: from, next: from}
	if from >= next {
		return l, errNotWhole
	}
	for {
		messages, err := r.read(ctx, partition, l.next, r.messages)
		if err != nil {
			return l, err
		}
		if len(messages) == 0 {
			break
		}
		for i := range messages {
			m := &messages[i]
			if err := follows(m, l.next); err != nil {
				return l, err
			}
			if m.Offset == from && from > 0 && !f.whole {
				err = f.startAt(m)
			}
			if err == nil {
				err = f.message(m)
			}
			if err != nil {
				return l, fmt.Errorf("offset %d: %w", m.Offset, err)
			}
			l.next = m.Offset + 1
		}
		l.last = markOf(&messages[len(messages)-1])
	}
	switch {
	case l.next < next:
		return l, errWentBack
	case from > 0 && !f.whole:
		return l, errNotWhole
	}
	return l, nil
}

// follows says that a message is the one at the offset next.
func follows(m *Message, next int64) error {
	switch {
	case m.Offset > next:
		return errDropped
	case m.Offset < next:
		return corrupt("offset %d comes where %d is due", m.Offset, next)
	}
	return nil
}

// readRest takes in all messages that are kept, for their owner.
func (r *reader) readRest(ctx context.Context, partition int) (loaded, error) {
	first, next, err := r.bounds(ctx, partition)
	if err != nil {
		return loaded{}, err
	}
	f := newFold(nil, r.maxRecord)
	if first >= next {
		return loaded{fold: f, from: next, next: next}, nil
	}
	f.whole = true // there is no checkpoint to begin at
	return r.readFrom(ctx, partition, first, next, f)
}

func (r *reader) bounds(ctx context.Context, partition int) (first, next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	first, next, err = r.storage.Bounds(ctx, partition)
	if err != nil {
		return 0, 0, fmt.Errorf("statelog: bounds of partition %d: %w", partition, err)
	}
	return first, next, nil
}

func (r *reader) read(ctx context.Context, partition int, from int64, limit int) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	messages, err := r.storage.Read(ctx, partition, from, limit)
	if err != nil {
		return nil, fmt.Errorf("statelog: read partition %d from offset %d: %w", partition, from, err)
	}
	return messages, nil
}
