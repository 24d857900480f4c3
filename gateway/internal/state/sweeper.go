// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"log/slog"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// sweepInterval is the time between two looks for topics that are gone.
const sweepInterval = 30 * time.Second

// sweeper drops what is kept about topics that others deleted: native clients of Iggy, or another gateway. Nobody is
// served any of that before it is dropped, since it carries the id of the topic that it belonged to.
//
// A topic that is not there is no proof that it was deleted: a gateway that was started without its topic map sees few
// topics, and must not forget the offsets of all others. So what goes is only what this process has seen and sees no
// more, and what belongs to an earlier topic of a name that another one has now.
type sweeper struct {
	groups *coordinator.Driver
	log    *statelog.Log
	bridge *bridge.Bridge
	logger *slog.Logger
}

// run sweeps until ctx ends.
func (s sweeper) run(ctx context.Context) {
	select {
	case <-s.groups.Loaded():
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	var seen *bridge.TopicView
	for {
		if view, err := s.bridge.Topics(ctx); err == nil {
			err = s.sweep(ctx, seen, view)
			if err == nil {
				seen = view // else what is gone since seen is dropped the next time
			} else if ctx.Err() == nil {
				s.logger.Warn("state of deleted topics not dropped yet", "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep drops what belongs to topics that were in seen and are not in view. Without seen, the first time, it looks for
// offsets of topics that were made anew.
func (s sweeper) sweep(ctx context.Context, seen, view *bridge.TopicView) error {
	if seen == nil {
		return s.dropReplaced(ctx, view)
	}
	for _, t := range seen.Topics {
		if _, ok := view.ByID(t.ID); !ok {
			if err := s.drop(ctx, t.Name, t.ID.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropReplaced looks through all groups.
func (s sweeper) dropReplaced(ctx context.Context, view *bridge.TopicView) error {
	groups, err := s.groups.List(ctx, coordinator.Filter{})
	if err != nil {
		return err
	}
	type incarnation struct{ name, id string }
	replaced := map[incarnation]bool{}
	for _, g := range groups {
		offsets, err := s.groups.Offsets(ctx, g.ID, nil)
		if err != nil {
			return err
		}
		for i := range offsets {
			o := &offsets[i]
			if t, ok := view.ByName(o.Topic); ok && o.TopicID != "" && o.TopicID != t.ID.String() {
				replaced[incarnation{o.Topic, o.TopicID}] = true
			}
		}
	}
	for t := range replaced {
		if err := s.drop(ctx, t.name, t.id); err != nil {
			return err
		}
	}
	return nil
}

func (s sweeper) drop(ctx context.Context, name, id string) error {
	if err := s.groups.DropTopic(ctx, coordinator.DropTopic{Topic: name, TopicID: id}); err != nil {
		return err
	}
	return s.log.DropTopic(ctx, id)
}
