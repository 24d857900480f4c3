// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// ErrGroupInUse: a native consumer is a member of the group, so its offsets are that one's to store.
var ErrGroupInUse = errors.New("bridge: native consumer group in use")

// NativeGroups stores offsets for consumer groups of Iggy, as the gateway's own user. Iggy takes a group's offset only from
// a member that owns the partition, and membership belongs to a connection: there is one, and one call at a time.
type NativeGroups struct {
	b     *Bridge
	conns *connPool
}

// GroupOffset is the offset of the last message of a partition that a group has processed.
type GroupOffset struct {
	Partition int32
	Offset    uint64
}

// NativeGroups returns access to Iggy's consumer groups. Who asked for it closes it, before the Bridge.
func (b *Bridge) NativeGroups() *NativeGroups {
	g := &NativeGroups{b, b.selfPool(1, b.cfg.MaxAnswerSize)}
	b.native.Store(g.conns)
	return g
}

// Close signs the connection out within ctx. No call may be under way.
func (g *NativeGroups) Close(ctx context.Context) { g.conns.close(ctx) }

// leaveTime bounds the end of a membership also when its call has used its own time up.
const leaveTime = time.Second

// Store stores offsets for a group of a topic, which is made if it is missing: it joins, stores, leaves. An offset past
// the last message is passed over. ErrGroupInUse says that somebody else is a member, or has just become one;
// ErrTopicNotFound that the topic is gone, or another one has its name.
func (g *NativeGroups) Store(ctx context.Context, t *Topic, group string, offsets []GroupOffset) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bridge: offsets of native group %q, topic %q: %w", group, t.Name, err)
		}
	}()
	stream, topic, name := iggywire.NamedID(t.Iggy.Stream), iggywire.NamedID(t.Iggy.Topic), iggywire.NamedID(group)
	if err := g.prepare(ctx, t, group); err != nil {
		return err
	}
	if err := g.do(ctx, iggywire.JoinGroup{Stream: stream, Topic: topic, Group: name}); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		err = errors.Join(err, g.do(ctx, iggywire.LeaveGroup{Stream: stream, Topic: topic, Group: name}))
	}()
	for _, o := range offsets {
		err := g.do(ctx, iggywire.StoreOffset{
			Consumer: iggywire.Consumer{Kind: iggywire.ConsumerGroup, ID: name}, Stream: stream, Topic: topic,
			HasPartition: true, Partition: uint32(o.Partition), Offset: o.Offset,
		})
		switch {
		case hasStatus(err, iggywire.StatusInvalidOffset):
		case hasStatus(err, iggywire.StatusNotResolvedConsumer):
			return ErrGroupInUse
		case err != nil:
			return err
		}
	}
	return nil
}

// prepare makes sure that it is the topic that is meant, and that the group is there and has no member.
func (g *NativeGroups) prepare(ctx context.Context, t *Topic, group string) error {
	now, found, err := g.b.getTopic(ctx, t.Iggy)
	switch {
	case err != nil:
		return err
	case !found || !t.is(&now.Topic):
		return ErrTopicNotFound
	}
	stream, topic := iggywire.NamedID(t.Iggy.Stream), iggywire.NamedID(t.Iggy.Topic)
	a, err := ask(ctx, g.conns, iggywire.GetGroup{Stream: stream, Topic: topic, Group: iggywire.NamedID(group)}, true)
	if err != nil {
		return err
	}
	details, err := parse(a, maybe(iggywire.ParseGroupDetails))
	switch {
	case err != nil:
		return err
	case details.value.Members > 0:
		return ErrGroupInUse
	case details.ok:
		return nil
	}
	err = g.do(ctx, iggywire.CreateGroup{Stream: stream, Topic: topic, Name: group})
	if hasStatus(err, iggywire.StatusGroupExists) { // somebody else was faster
		return nil
	}
	return err
}

// do runs a command whose answer says nothing more.
func (g *NativeGroups) do(ctx context.Context, req iggywire.Request) error {
	a, err := ask(ctx, g.conns, req, false)
	if err == nil {
		a.release()
	}
	return err
}
