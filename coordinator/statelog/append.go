// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
)

// append writes messages behind all that is known of the log, and takes them in. When it returns nil they are there, and
// all that lies before them has been read. Errors: ErrFenced; errDisagrees, when the log must be mended before anything
// else is written; else they have not been found in the log.
func (p *partition) append(ctx context.Context, payloads [][]byte) error {
	messages := make([]Message, len(payloads))
	for i := range messages {
		messages[i] = Message{Checkpoint: p.fold.checkpoint, Payload: payloads[i]}
	}
	return p.appendMessages(ctx, messages)
}

// appendMessages numbers the messages and appends them. What is appended once more gets new numbers: under the old ones it
// may still come.
func (p *partition) appendMessages(ctx context.Context, messages []Message) error {
	if p.unsure {
		if err := p.look(ctx); err != nil {
			return err
		}
		if p.disagrees {
			return errDisagrees
		}
	}
	for i := range messages {
		p.sequence++
		messages[i].Sequence = p.sequence
	}
	base, err := p.send(ctx, messages)
	searched := err != nil
	if searched {
		if base, err = p.search(ctx, messages, err); err != nil {
			return err
		}
	}
	switch {
	case base < p.next:
		p.disagree(true, fmt.Sprintf("an append went to offset %d, where %d was due", base, p.next))
		return errDisagrees
	case base > p.next || searched:
		if err := p.readOn(ctx, base); err != nil {
			return err
		}
	}
	if p.next != base { // it went back just now
		p.disagree(true, fmt.Sprintf("offset %d is gone", p.next))
	}
	if p.disagrees {
		p.skip(messages)
		return errDisagrees
	}
	return p.takeIn(messages)
}

func (p *partition) send(ctx context.Context, messages []Message) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	base, err := p.storage.Append(ctx, p.number, messages)
	if err != nil {
		return 0, fmt.Errorf("statelog: append to partition %d: %w", p.number, err)
	}
	return base, nil
}

// search looks for messages whose append failed, and returns where they are. If they are not there cause is returned: they
// may still come, which is seen when they do.
func (p *partition) search(ctx context.Context, messages []Message, cause error) (int64, error) {
	p.unsure = true
	tail, err := p.readTail(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w; looking for it: %w", cause, err)
	}
	for i := range tail {
		if found := tail[i:min(i+len(messages), len(tail))]; sameMessages(found, messages) {
			p.unsure = false
			return found[0].Offset, nil
		}
	}
	if err := p.look(ctx); err != nil {
		return 0, fmt.Errorf("%w; looking for it: %w", cause, err)
	}
	return 0, cause
}

func sameMessages(found, messages []Message) bool {
	return slices.EqualFunc(found, messages, func(a, b Message) bool {
		return a.Sequence == b.Sequence && bytes.Equal(a.Payload, b.Payload)
	})
}

// readTail returns all messages from next on.
func (p *partition) readTail(ctx context.Context) ([]Message, error) {
	var tail []Message
	for from := p.next; ; {
		messages, err := p.read(ctx, p.number, from, p.messages)
		if err != nil || len(messages) == 0 {
			return tail, err
		}
		tail = append(tail, messages...)
		from = messages[len(messages)-1].Offset + 1
	}
}

// look reads the tail: the last message known must still be there, and what lies behind it is taken in.
func (p *partition) look(ctx context.Context) error {
	if p.wentBack {
		return nil // mend will look
	}
	return p.readOn(ctx, math.MaxInt64)
}

// readOn takes in what lies between the last message known, which must still be there, and the offset.
func (p *partition) readOn(ctx context.Context, until int64) error {
	p.unsure = true
	if p.next > 0 {
		messages, err := p.read(ctx, p.number, p.next-1, 1)
		if err != nil {
			return err
		}
		if len(messages) == 0 || messages[0].Offset != p.next-1 || markOf(&messages[0]) != p.last {
			p.disagree(true, fmt.Sprintf("the message at offset %d is gone", p.next-1))
			p.unsure = false
			return nil
		}
	}
	for p.next < until {
		messages, err := p.read(ctx, p.number, p.next, int(min(until-p.next, int64(p.messages))))
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			break
		}
		if err := p.readOthers(messages); err != nil {
			return err
		}
	}
	p.unsure = false
	return nil
}

// readOthers takes in messages that this goroutine did not append, or does not know that it did.
func (p *partition) readOthers(messages []Message) error {
	for i := range messages {
		m := &messages[i]
		if err := follows(m, p.next); err != nil {
			return fmt.Errorf("partition %d: %w", p.number, err)
		}
		writer, r, err := decodeRecord(string(m.Payload))
		if err != nil {
			return fmt.Errorf("partition %d: offset %d: %w", p.number, m.Offset, err)
		}
		switch {
		case p.fold.late(m, writer):
			// It was given up on, and a newer one was faster: it counts for nobody.
		case writer == p.writer:
			p.disagree(false, fmt.Sprintf("an append that had been given up on came to offset %d", m.Offset))
		default:
			if err := p.foldRecord(m, writer, r); err != nil {
				return err
			}
		}
		p.next, p.last = m.Offset+1, markOf(m)
	}
	return nil
}

// takeIn takes in messages of its own, which lie behind the last one known.
func (p *partition) takeIn(messages []Message) error {
	for i := range messages {
		m := &messages[i]
		m.Offset = p.next + int64(i)
		if err := p.foldMessage(m); err != nil {
			return err
		}
	}
	p.skip(messages)
	return nil
}

// skip passes over messages of its own.
func (p *partition) skip(messages []Message) {
	p.next += int64(len(messages))
	p.last = markOf(&messages[len(messages)-1])
}

// foldMessage takes in a message.
func (p *partition) foldMessage(m *Message) error {
	writer, r, err := decodeRecord(string(m.Payload))
	if err != nil {
		return fmt.Errorf("partition %d: offset %d: %w", p.number, m.Offset, err)
	}
	return p.foldRecord(m, writer, r)
}

// foldRecord takes in a message that was decoded. If it is a newer owner's first, that is the end.
func (p *partition) foldRecord(m *Message, writer writerID, r record) error {
	p.state.Lock()
	defer p.state.Unlock()
	owned, quotas := p.fold.owned && p.fold.writer == p.writer, p.fold.view.quotaChanges
	err := p.fold.decoded(m, writer, r)
	if p.fold.view.quotaChanges != quotas {
		p.quotas.Add(1)
	}
	if err != nil {
		return fmt.Errorf("partition %d: offset %d: %w", p.number, m.Offset, err)
	}
	if owned && p.fold.writer != p.writer {
		p.cfg.Observe(Fenced{p.number, p.fold.owner.String()})
		return fmt.Errorf("%w: partition %d: %v", ErrFenced, p.number, p.fold.owner)
	}
	return nil
}

func (p *partition) disagree(wentBack bool, reason string) {
	if !p.disagrees || wentBack && !p.wentBack {
		p.cfg.Observe(Disagreed{p.number, reason})
	}
	p.disagrees = true
	p.wentBack = p.wentBack || wentBack
	p.checkpoint = nil
}
