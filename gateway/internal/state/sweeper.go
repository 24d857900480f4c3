// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
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

	seen *bridge.TopicView // of the last sweep
	// gone are the ids of topics that were seen and are not there any more, until nothing is kept of them.
	gone map[string]bool
	// begun is false until everything was looked through once: topics may have been made anew before this process began.
	begun bool
}

func newSweeper(groups *coordinator.Driver, log *statelog.Log, b *bridge.Bridge, logger *slog.Logger) *sweeper {
	return &sweeper{groups: groups, log: log, bridge: b, logger: logger, gone: map[string]bool{}}
}

// run sweeps until ctx ends; tried is closed after the first time.
func (s *sweeper) run(ctx context.Context, tried chan<- struct{}) {
	select {
	case <-s.groups.Loaded():
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("state of deleted topics not dropped yet", "err", err)
		}
		if first {
			close(tried)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep drops what belongs to topics that are not there any more. What it drops it looks for again the next time: that
// offsets are asked to go is no proof that their removal was written, and a commit that was under way may come behind it.
func (s *sweeper) sweep(ctx context.Context) error {
	view, err := s.bridge.Topics(ctx)
	if err != nil {
		return err
	}
	finished := maps.Clone(s.gone)
	s.note(view)
	if s.begun && len(s.gone) == 0 {
		return nil
	}
	kept, err := s.kept(ctx)
	if err != nil {
		return err
	}
	// Of two topics that have a name one after the other the newer one is not the one that was replaced: it must not have
	// been made, and committed for, after the view was.
	if view, err = s.bridge.TopicsWithin(ctx, 0); err != nil {
		return err
	}
	for id, what := range kept {
		if !s.gone[id] && !replaced(view, what.name, id) {
			continue
		}
		delete(finished, id)
		if err := s.drop(ctx, id, what); err != nil {
			return err
		}
	}
	for id := range finished {
		delete(s.gone, id)
	}
	s.begun = true
	return nil
}

// note takes down which topics are not there any more.
func (s *sweeper) note(view *bridge.TopicView) {
	if s.seen != nil {
		for _, t := range s.seen.Topics {
			if _, ok := view.ByID(t.ID); !ok {
				s.gone[t.ID.String()] = true
			}
		}
	}
	s.seen = view
}

// replaced says whether a name belongs to another topic now.
func replaced(view *bridge.TopicView, name, id string) bool {
	now, ok := view.ByName(name)
	return ok && now.ID.String() != id
}

// remains is what is kept of a topic: offsets of groups, and what the state log has under its id. The name is empty where
// neither tells it.
type remains struct {
	name              string
	offsets, settings bool
}

// kept looks through all groups and the state log. What it returns is by topic id.
func (s *sweeper) kept(ctx context.Context) (map[string]remains, error) {
	kept := map[string]remains{}
	groups, err := s.groups.List(ctx, coordinator.Filter{})
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		offsets, err := s.groups.Offsets(ctx, g.ID, nil)
		if err != nil {
			return nil, err
		}
		for i := range offsets {
			if o := &offsets[i]; o.TopicID != "" {
				kept[o.TopicID] = remains{name: o.Topic, offsets: true}
			}
		}
	}
	for id, name := range s.log.Topics() {
		what := kept[id]
		what.name, what.settings = cmp.Or(what.name, name), true
		kept[id] = what
	}
	return kept, nil
}

func (s *sweeper) drop(ctx context.Context, id string, what remains) error {
	if what.offsets {
		if err := s.groups.DropTopic(ctx, coordinator.DropTopic{Topic: what.name, TopicID: id}); err != nil {
			return err
		}
	}
	if what.settings {
		return s.log.DropTopic(ctx, id)
	}
	return nil
}
