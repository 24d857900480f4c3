// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import "time"

// check removes expired offsets, and a group in which nothing is left.
func (g *Group) check(now time.Time) {
	g.checkAt = g.wake(now.Add(g.cfg.CheckInterval))
	expired := g.removals(func(tp TopicPartition, o Offset) bool { return g.expired(now, tp.Topic, o) })
	if g.state == Empty && len(g.pending) == 0 && len(g.unwritten) == 0 && len(expired) == len(g.offsets) {
		g.writeRemoved("nothing left in it", func(error) {})
		return
	}
	g.writeAndReply(expired, func(error) {})
}

// expired says that an offset has served its time (KIP-211; ClassicGroup.offsetExpirationCondition): in an Empty group
// counted from when the last member went, in a group that never had members from the commit. While there are members,
// only topics count that none of them reads.
func (g *Group) expired(now time.Time, topic string, offset Offset) bool {
	since := offset.CommittedAt
	switch {
	case g.protocolType == "":
	case g.state == Empty:
		since = g.emptySince
	case g.state != Stable || g.protocolType != consumerProtocolType || g.subscribes(topic):
		return false
	}
	if !offset.ExpireAt.IsZero() {
		return !now.Before(offset.ExpireAt)
	}
	return now.Sub(since) >= g.cfg.OffsetsRetention
}
