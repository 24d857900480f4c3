// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf16"
)

func (g *Group) commit(now time.Time, c *Commit) {
	if err := g.mayCommit(now, c); err != nil {
		g.reply(c.Request, CommitResult{}, err)
		return
	}
	result := CommitResult{Errs: make([]error, len(c.Offsets))}
	changes := make([]Change, 0, len(c.Offsets))
	var expireAt time.Time
	if c.Retention != 0 {
		expireAt = now.Add(c.Retention)
	}
	for i, o := range c.Offsets {
		if utf16Len(o.Metadata) > g.cfg.MaxOffsetMetadata {
			result.Errs[i] = ErrOffsetMetadataTooLarge
			continue
		}
		changes = append(changes, OffsetCommitted{o.TopicPartition, Offset{
			TopicID: o.TopicID, Position: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata,
			CommittedAt: now, ExpireAt: expireAt,
		}})
	}
	request := c.Request
	g.writeAndReply(changes, func(err error) {
		if err != nil {
			result = CommitResult{}
		}
		g.reply(request, result, err)
	})
}

// mayCommit says who may commit (ClassicGroup.validateOffsetCommit), and keeps the session of a member that may.
func (g *Group) mayCommit(now time.Time, c *Commit) error {
	switch {
	case g.state == Dead && c.Generation >= 0:
		return ErrGroupIDNotFound
	case c.Generation < 0 && (g.state == Dead || g.state == Empty):
		return cmp.Or(g.mayCreate(), g.mayRemember(c.Offsets))
	}
	m, err := g.member(c.MemberID, c.InstanceID)
	switch {
	case err != nil:
		return err
	case c.Generation != g.generation:
		return ErrIllegalGeneration
	case g.state == CompletingRebalance:
		return ErrRebalanceInProgress
	}
	g.touch(now, m)
	return g.mayRemember(c.Offsets)
}

// mayRemember refuses offsets more than there may be. Those that replace others are always welcome.
func (g *Group) mayRemember(offsets []OffsetCommit) error {
	room := g.cfg.MaxOffsets - g.usage.offsets
	if len(offsets) <= room {
		return nil
	}
	for _, o := range offsets {
		if _, ok := g.offsets[o.TopicPartition]; !ok {
			room--
		}
	}
	if room < 0 {
		return fmt.Errorf("%w: %d offsets in all groups", ErrNotAvailable, g.usage.offsets)
	}
	return nil
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// writeAndReply applies changes of offsets when they are durable, and then calls reply. Without changes it does so at once.
func (g *Group) writeAndReply(changes []Change, reply func(err error)) {
	if len(changes) == 0 {
		reply(nil)
		return
	}
	g.write(func(now time.Time, err error) {
		if err == nil {
			for _, c := range changes {
				g.applyOffset(now, c)
			}
		}
		reply(err)
	}, changes...)
}

// applyOffset makes a durable change of an offset visible.
func (g *Group) applyOffset(now time.Time, c Change) {
	switch c := c.(type) {
	case OffsetCommitted:
		g.create(now, "offset committed")
		if _, ok := g.offsets[c.TopicPartition]; !ok {
			g.usage.offsets++
			g.topics[c.Topic]++
		}
		g.offsets[c.TopicPartition] = c.Offset
	case OffsetRemoved:
		if _, ok := g.offsets[c.TopicPartition]; ok {
			g.usage.offsets--
			delete(g.offsets, c.TopicPartition)
			if g.topics[c.Topic]--; g.topics[c.Topic] == 0 {
				delete(g.topics, c.Topic)
			}
		}
	}
}

func (g *Group) deleteOffsets(d *DeleteOffsets) {
	if err := g.mayDeleteOffsets(); err != nil {
		g.reply(d.Request, DeleteOffsetsResult{}, err)
		return
	}
	result := DeleteOffsetsResult{Errs: make([]error, len(d.Partitions))}
	var changes []Change
	for i, tp := range d.Partitions {
		if g.subscribes(tp.Topic) {
			result.Errs[i] = ErrGroupSubscribedToTopic
			continue
		}
		// One that is only being committed counts too: the removal comes after it.
		changes = append(changes, OffsetRemoved{tp})
	}
	request := d.Request
	g.writeAndReply(changes, func(err error) {
		if err != nil {
			result = DeleteOffsetsResult{}
		}
		g.reply(request, result, err)
	})
}

func (g *Group) mayDeleteOffsets() error {
	switch {
	case g.id == "":
		return ErrInvalidGroupID
	case g.state == Dead:
		return ErrGroupIDNotFound
	case g.state != Empty && g.protocolType != consumerProtocolType:
		return ErrNonEmptyGroup
	}
	return nil
}

func (g *Group) dropTopic(d *DropTopic) {
	changes := g.removals(func(tp TopicPartition, o Offset) bool {
		return tp.Topic == d.Topic && sameTopic(o.TopicID, d.TopicID)
	})
	g.writeAndReply(changes, func(error) {})
}

// reads says whether the group has offsets of a topic, or is about to.
func (g *Group) reads(topic string) bool {
	if g.topics[topic] > 0 {
		return true
	}
	for _, w := range g.unwritten {
		for _, change := range w.Changes {
			if c, ok := change.(OffsetCommitted); ok && c.Topic == topic {
				return true
			}
		}
	}
	return false
}

func (g *Group) delete(d *Delete) {
	switch g.state {
	case Dead:
		g.reply(d.Request, DeleteResult{}, ErrGroupIDNotFound)
		return
	case Empty:
	default:
		g.reply(d.Request, DeleteResult{}, ErrNonEmptyGroup)
		return
	}
	g.writeRemoved("deleted", func(err error) { g.reply(d.Request, DeleteResult{}, err) })
}

// writeRemoved removes the group. Those that come back while that is being written keep it, but for the offsets it had:
// what they write, and what is committed meanwhile, comes after the removal.
func (g *Group) writeRemoved(reason string, end func(err error)) {
	before := g.lastSave
	g.write(func(_ time.Time, err error) {
		if err == nil {
			g.dropOffsets()
			if g.state == Empty && g.lastSave == before {
				g.die(reason)
			}
		}
		end(err)
	}, GroupRemoved{})
}

func (g *Group) dropOffsets() {
	g.usage.offsets -= len(g.offsets)
	clear(g.offsets)
	clear(g.topics)
}

// die ends an Empty group. Ids that it gave out are unknown from now on.
func (g *Group) die(reason string) {
	for len(g.pending) > 0 {
		g.dropPending(g.pending[0].id)
	}
	g.generation, g.protocolType = 0, ""
	g.checkAt = time.Time{}
	g.moveTo(Dead, reason)
}

// removals returns what removes the offsets that match, sorted by partition. It looks at them as they will be if all writes
// under way succeed: the removals would come after a commit that is being written, and take that away.
func (g *Group) removals(matches func(TopicPartition, Offset) bool) []Change {
	matching := map[TopicPartition]bool{}
	for tp, o := range g.offsets {
		if matches(tp, o) {
			matching[tp] = true
		}
	}
	for _, w := range g.unwritten {
		for _, change := range w.Changes {
			switch c := change.(type) {
			case OffsetCommitted:
				if matches(c.TopicPartition, c.Offset) {
					matching[c.TopicPartition] = true
				} else {
					delete(matching, c.TopicPartition)
				}
			case OffsetRemoved:
				delete(matching, c.TopicPartition)
			case GroupRemoved:
				clear(matching)
			}
		}
	}
	var changes []Change
	for _, tp := range sortedPartitions(matching) {
		changes = append(changes, OffsetRemoved{tp})
	}
	return changes
}

func sortedPartitions[V any](offsets map[TopicPartition]V) []TopicPartition {
	return slices.SortedFunc(maps.Keys(offsets), TopicPartition.Compare)
}
