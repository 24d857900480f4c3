// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

const (
	// takeBackTime bounds how long what could only be done in part is taken back or finished, also when its request has used its own
	// time up.
	takeBackTime = 5 * time.Second
	// A topic is waited for so long before Iggy is asked for it again, then longer, as all topics are looked at.
	lookAgain     = 200 * time.Millisecond
	lookAgainMost = 8 * lookAgain
)

// makeTopic creates a topic as s's user and stores its settings. A topic that would be without them is taken back, so that
// whoever asked may try again; where they cannot be stored in any case, none is made.
func (a *API) makeTopic(ctx context.Context, s *bridge.Session, name string, partitions int32, settings map[string]string) (*bridge.Topic, *refusal) {
	if ctx.Err() != nil { // nothing was done, which nobody would know once Iggy was asked
		return nil, refuse(requestTimedOut, textTimedOut)
	}
	r := topicconfig.RetentionOf(settings)
	spec := bridge.TopicSpec{
		Name: name, Partitions: partitions,
		MessageExpiry: r.MessageExpiry, MaxSize: bridge.TopicSize(r.PartitionSize, partitions),
	}
	// Iggy has not said yet what it makes of the size: as much as may have to be kept.
	planned := &bridge.Topic{Partitions: partitions, MessageExpiry: spec.MessageExpiry, MaxSize: max(spec.MaxSize, bridge.MinTopicSize)}
	keeps := len(topicconfig.Beside(planned, settings)) > 0
	if keeps {
		if !a.ownsState() {
			return nil, refuse(notController, textNotController)
		}
		release, err := a.settings.hold(ctx, name)
		if err != nil {
			return nil, refuse(requestTimedOut, textTimedOut)
		}
		defer release()
	}
	t, err := a.Bridge.CreateTopic(ctx, s, spec)
	awaited := keeps && bridge.IsUnknownOutcome(err)
	if awaited {
		var cancel context.CancelFunc
		ctx, cancel = outlast(ctx, takeBackTime)
		defer cancel()
		t, err = a.awaitTopic(ctx, name, err)
		if err == nil && !a.mayBeNew(t, partitions, r) {
			return nil, alreadyExists(name)
		}
	}
	if err != nil {
		no := a.refusalOf(opCreateTopics, err)
		if no.code == topicAlreadyExists {
			no = alreadyExists(name)
		}
		return nil, no
	}
	beside := topicconfig.Beside(t, settings)
	if len(beside) == 0 {
		return t, nil
	}
	err = a.Topics.SetTopicSettings(ctx, t.ID.String(), t.Name, beside)
	switch {
	case err == nil:
		return t, nil
	case awaited: // nobody knows for sure that it is this request's: it stays
		a.logFailure("a topic is there without its settings: set them again", fmt.Errorf("topic %q: %w", name, err))
		return nil, storeRefusal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	if err := a.Bridge.DeleteTopic(ctx, s, t); err != nil {
		a.logFailure("topic without its settings not taken back", err)
	}
	return nil, storeRefusal(err)
}

// awaitTopic waits for a topic of which nobody knows whether Iggy makes it, as its answer did not come: unknown says so. To give up at once
// would leave a topic without its settings behind, which nobody could make anew, as it exists. As on a broker, what was begun is
// finished rather than taken back: it could be somebody else's topic.
func (a *API) awaitTopic(ctx context.Context, name string, unknown error) (*bridge.Topic, error) {
	for pause := lookAgain; ; pause = min(2*pause, lookAgainMost) {
		if view, err := a.Bridge.TopicsWithin(ctx, 0); err == nil {
			if t, there := view.ByName(name); there {
				return t, nil
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			a.logFailure("a topic may come to be without its settings: set them if it does", unknown)
			return nil, unknown
		}
	}
}

// mayBeNew reports that a topic that was waited for can be the one that was to be made: it is as that was to be, and nobody has
// given it settings. Else somebody else has made it, and the request for the other one came too late or not at all.
func (a *API) mayBeNew(t *bridge.Topic, partitions int32, r topicconfig.Retention) bool {
	_, kept := a.Topics.TopicSettings(t.ID.String())
	return t.Partitions == partitions && r.MayBeOf(t) && !kept
}

func alreadyExists(name string) *refusal {
	return refuse(topicAlreadyExists, "Topic '%s' already exists.", name)
}

// outlast returns a context that ends with ctx, but not within d from now on.
func outlast(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	least := time.AfterFunc(d, func() { context.AfterFunc(ctx, cancel) })
	return longer, func() {
		least.Stop()
		cancel()
	}
}
