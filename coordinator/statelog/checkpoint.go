// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// chunkBytes is what one append of a checkpoint holds, about. Between two of them, what waits is appended.
const chunkBytes = 256 << 10

// checkpointer walks over the state and writes each thing as it is when its turn comes. Changes that are appended
// meanwhile lie before or behind it in the log, just as they do in memory: who reads from the beginning of the checkpoint
// on, in order, gets the same.
type checkpointer struct {
	begun   bool
	begin   int64
	at      time.Time
	entries int
	// What is still to come: things without a group, as they were when the checkpoint began; groups, topics of the first of
	// them (nil: it is not begun), and the first partition of the first of those.
	others    []record
	groups    []string
	topics    []string
	partition int32
}

func (p *partition) checkpointDue(now time.Time) bool {
	since := p.fold.since
	age := now.Sub(p.checkedAt)
	return since >= max(p.cfg.CheckpointRecords, p.fold.view.entries()) ||
		since > 0 && age >= p.cfg.CheckpointInterval || age >= p.cfg.CheckpointMaxAge
}

// continueCheckpoint appends the next piece of the checkpoint, and ends it when there is none.
func (p *partition) continueCheckpoint(ctx context.Context) error {
	c := p.checkpoint
	if !c.begun {
		now := time.Now()
		err := p.append(ctx, [][]byte{appendRecord(nil, p.writer, checkpointBegin{now, p.self})})
		if err != nil {
			return err
		}
		// Only now: what comes into being before the beginning would be neither in the lists nor behind it.
		v := p.fold.view
		*c = checkpointer{
			begun: true, begin: p.next - 1, at: now, entries: v.entries(),
			others: v.others(), groups: slices.Sorted(maps.Keys(v.groups)),
		}
		return nil
	}
	chunk, err := p.nextChunk(c)
	if err != nil {
		return err
	}
	if len(chunk) > 0 {
		return p.append(ctx, chunk)
	}
	// The end says where its own checkpoint begins, so that one who finds it as the last message starts there.
	last := Message{Checkpoint: c.begin, Payload: appendRecord(nil, p.writer, checkpointEnd{})}
	if err := p.appendMessages(ctx, []Message{last}); err != nil {
		return err
	}
	p.checkpoint, p.checkedAt = nil, c.at
	p.cfg.Observe(Checkpointed{p.number, c.begin, c.entries})
	return nil
}

// nextChunk returns the next entries, none when all are written.
func (p *partition) nextChunk(c *checkpointer) ([][]byte, error) {
	var chunk pending
	for chunk.size < chunkBytes && c.more() {
		r := c.next(p.fold.view, p.cfg.MaxMessage/2)
		if r == nil {
			continue
		}
		if err := p.encode(&chunk, []record{r}); err != nil {
			return nil, err
		}
	}
	return chunk.payloads, nil
}

func (c *checkpointer) more() bool { return len(c.others) > 0 || len(c.groups) > 0 }

// next returns the next entry, as things are now, of about size bytes at most if it can be divided; nil if there is none at
// this step.
func (c *checkpointer) next(v *view, size int) record {
	if len(c.others) > 0 {
		key := c.others[0]
		c.others = c.others[1:]
		return v.current(key)
	}
	id := c.groups[0]
	g := v.groups[id]
	switch {
	case g == nil:
		c.groups, c.topics = c.groups[1:], nil
	case c.topics == nil:
		c.topics = append([]string{}, slices.Sorted(maps.Keys(g.topics))...)
		c.partition = math.MinInt32
		if g.snapshot != "" {
			return groupSaved{id, g.snapshot}
		}
	case len(c.topics) == 0:
		c.groups, c.topics = c.groups[1:], nil
	default:
		t, rest, more := g.committed(c.topics[0], c.partition, size)
		c.partition = rest
		if !more {
			c.topics, c.partition = c.topics[1:], math.MinInt32
		}
		if len(t.partitions) > 0 {
			return offsetsCommitted{id, []committedTopic{t}}
		}
	}
	return nil
}

// mend makes the log agree with the state in memory, if it does not: with a checkpoint of all of that, behind which it
// means nothing any more what lies before. When messages were lost the owner record may be among them, so it comes first,
// unless somebody else has taken over meanwhile.
func (p *partition) mend(ctx context.Context) error {
	if !p.disagrees {
		return nil
	}
	// Somebody may have taken over since the last look.
	if err := p.look(ctx); err != nil {
		return err
	}
	if p.wentBack {
		if err := p.survey(ctx); err != nil {
			return err
		}
	}
	p.disagrees, p.wentBack = false, false
	if err := p.restore(ctx); err != nil {
		p.checkpoint = nil
		p.disagrees = true
		return err
	}
	p.cfg.Observe(Restored{p.number})
	return nil
}

func (p *partition) restore(ctx context.Context) error {
	if err := p.append(ctx, [][]byte{appendRecord(nil, p.writer, p.self)}); err != nil {
		return err
	}
	p.checkpoint = &checkpointer{}
	for p.checkpoint != nil {
		if err := p.continueCheckpoint(ctx); err != nil {
			return err
		}
	}
	return nil
}

// survey finds out where the log ends and who owns it, after it went back.
func (p *partition) survey(ctx context.Context) error {
	l, err := p.load(ctx, p.number, func() *view { return nil })
	if errors.Is(err, ErrStateLost) {
		// Nobody can start from what is left, but this gateway has the state.
		l, err = p.readRest(ctx, p.number)
	}
	if err != nil {
		return err
	}
	if l.owned && l.owner.bootID != p.self.bootID && l.owner.term >= p.self.term {
		p.cfg.Observe(Fenced{p.number, l.owner.String()})
		return fmt.Errorf("%w: partition %d: %v", ErrFenced, p.number, l.owner)
	}
	p.next, p.last, p.unsure = l.next, l.last, false
	p.state.Lock()
	defer p.state.Unlock()
	p.fold.checkpoint, p.fold.begun = l.checkpoint, -1
	return nil
}
