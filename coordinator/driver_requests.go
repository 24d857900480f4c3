// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// The methods below send one event each and return what Reply says, or ctx's error. They set the field Request.
// Errors are the package's; ErrLoadInProgress, ErrNotAvailable and ErrNotCoordinator may come from all of them.

// Join waits for the next generation of the group and sets j.Unique if it is empty. It waits as long as the slowest member
// takes.
func (d *Driver) Join(ctx context.Context, group string, j Join) (JoinResult, error) {
	return request[JoinResult](ctx, d, group, func(id RequestID) Event {
		j.Request = id
		if j.Unique == "" {
			j.Unique = d.cfg.NewID()
		}
		return j
	})
}

// Sync waits for the leader's assignment.
func (d *Driver) Sync(ctx context.Context, group string, s Sync) (SyncResult, error) {
	return request[SyncResult](ctx, d, group, func(id RequestID) Event { s.Request = id; return s })
}

// Heartbeat keeps a member's session. It succeeds while the state is loading.
func (d *Driver) Heartbeat(ctx context.Context, group string, h Heartbeat) error {
	_, err := request[HeartbeatResult](ctx, d, group, func(id RequestID) Event { h.Request = id; return h })
	if errors.Is(err, ErrLoadInProgress) {
		return nil
	}
	return err
}

// Leave removes members.
func (d *Driver) Leave(ctx context.Context, group string, l Leave) (LeaveResult, error) {
	return request[LeaveResult](ctx, d, group, func(id RequestID) Event { l.Request = id; return l })
}

// Commit stores offsets and returns when they are durable.
func (d *Driver) Commit(ctx context.Context, group string, c Commit) (CommitResult, error) {
	return request[CommitResult](ctx, d, group, func(id RequestID) Event { c.Request = id; return c })
}

// DeleteOffsets removes offsets and returns when they are durably gone.
func (d *Driver) DeleteOffsets(ctx context.Context, group string, o DeleteOffsets) (DeleteOffsetsResult, error) {
	return request[DeleteOffsetsResult](ctx, d, group, func(id RequestID) Event { o.Request = id; return o })
}

// Delete removes a group without members and returns when it is durably gone.
func (d *Driver) Delete(ctx context.Context, group string) error {
	_, err := request[DeleteResult](ctx, d, group, func(id RequestID) Event { return Delete{Request: id} })
	return err
}

// DropTopic removes the offsets of a topic that is no more from all groups. It does not wait for that to be durable, and nil
// does not say that it will be: offsets whose removal cannot be written are there as before. Who has to be sure looks at
// Offsets later, and drops the topic again.
func (d *Driver) DropTopic(ctx context.Context, topic DropTopic) error {
	var refused error
	err := d.do(ctx, func(now time.Time) {
		if refused = d.refusal; refused == nil {
			d.perform(d.groups.DropTopic(now, topic))
		}
	})
	return cmp.Or(err, refused)
}

// Describe describes a group. One that is not there is Dead, with ErrGroupIDNotFound.
func (d *Driver) Describe(ctx context.Context, group string) (Description, error) {
	return read(ctx, d, func(gs *Groups) (Description, error) { return gs.Describe(group) })
}

// List returns the groups that the filter chooses, sorted by id.
func (d *Driver) List(ctx context.Context, f Filter) ([]Listing, error) {
	list, err := read(ctx, d, func(gs *Groups) ([]Listing, error) { return gs.listUnsorted(f), nil })
	sortListings(list) // which nobody else has to wait for
	return list, err
}

// Offsets answers each query for a group's offsets, in order; nil asks for all. What is being committed does not show
// until it is durable.
func (d *Driver) Offsets(ctx context.Context, group string, queries []OffsetQuery) ([]OffsetResult, error) {
	return read(ctx, d, func(gs *Groups) ([]OffsetResult, error) { return gs.Offsets(group, queries), nil })
}
