// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// maxSettingsBytes bounds the names and values of one topic's settings: they are kept in memory.
const maxSettingsBytes = 64 << 10

// checkSettings says why a topic cannot have such settings; nil if it can.
func (a *API) checkSettings(settings map[string]string) *refusal {
	if err := a.configs.Validate(settings); err != nil {
		return refuse(invalidConfig, "%s", err.Error())
	}
	size := 0
	for name, value := range settings {
		size += len(name) + len(value)
	}
	if size > maxSettingsBytes {
		return refuse(policyViolation, "The settings of a topic take %d bytes, of which at most %d are kept.", size, maxSettingsBytes)
	}
	return nil
}

// ownSettings returns what is set of a topic, by whomever; the caller may change the map. The error is that of effective.
func (a *API) ownSettings(t *bridge.Topic) (map[string]string, error) {
	version := a.Topics.SettingsVersion()
	if _, _, making := a.settings.get(t, version); making || version == 0 {
		return nil, fmt.Errorf("api: settings of topic %q: %w", t.Name, coordinator.ErrLoadInProgress)
	}
	kept, _ := a.Topics.TopicSettings(t.ID.String())
	return topicconfig.Own(t, kept), nil
}

// setSettings gives a topic other settings than the ones of its own: Iggy those that it holds, as s's user, and the state log
// the rest. If only the first can be done, that is taken back.
func (a *API) setSettings(ctx context.Context, s *bridge.Session, t *bridge.Topic, own, settings map[string]string) *refusal {
	before, after := topicconfig.RetentionOf(own).Resolved(), topicconfig.RetentionOf(settings).Resolved()
	now := t
	if change := retentionChange(before, after); change != (bridge.TopicChange{}) {
		var err error
		if now, err = a.Bridge.UpdateTopic(ctx, s, t, change); err != nil {
			return a.refusalOf(opAlterConfigs, err)
		}
	}
	kept, _ := a.Topics.TopicSettings(t.ID.String())
	beside := topicconfig.Beside(now, settings)
	if maps.Equal(kept, beside) {
		return nil
	}
	err := a.Topics.SetTopicSettings(ctx, t.ID.String(), t.Name, beside)
	if err == nil {
		return nil
	}
	if undo := retentionChange(after, before); undo != (bridge.TopicChange{}) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
		defer cancel()
		if _, err := a.Bridge.UpdateTopic(ctx, s, t, undo); err != nil {
			a.logFailure("a topic's retention is changed and its settings are not", err)
		}
	}
	return storeRefusal(err)
}

// retentionChange is what must change in Iggy: what is the same in Kafka's terms stays, even if Iggy holds it more exactly.
func retentionChange(before, after topicconfig.Retention) (change bridge.TopicChange) {
	if before.MessageExpiry != after.MessageExpiry {
		change.MessageExpiry = &after.MessageExpiry
	}
	if before.PartitionSize != after.PartitionSize {
		change.PartitionSize = &after.PartitionSize
	}
	return change
}

const (
	// takeBackTime bounds how long what could only be done in part is taken back or finished, also when its request has used its own
	// time up.
	takeBackTime = 5 * time.Second
	// lookAgain is how long a topic is waited for before Iggy is asked for it again.
	lookAgain = 200 * time.Millisecond
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
		defer a.settings.hold(name)()
	}
	t, err := a.Bridge.CreateTopic(ctx, s, spec)
	awaited := keeps && bridge.IsUnknownOutcome(err)
	if awaited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
		defer cancel()
		t, err = a.awaitTopic(ctx, name, err)
	}
	if err != nil {
		no := a.refusalOf(opCreateTopics, err)
		if no.code == topicAlreadyExists {
			no.text = fmt.Sprintf("Topic '%s' already exists.", name)
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
	for {
		if view, err := a.Bridge.TopicsWithin(ctx, 0); err == nil {
			if t, there := view.ByName(name); there {
				return t, nil
			}
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			a.logFailure("a topic may come to be without its settings: set them if it does", unknown)
			return nil, unknown
		}
	}
}

// storeRefusal is why settings or quotas were not stored.
func storeRefusal(err error) *refusal {
	if errors.Is(err, coordinator.ErrNotCoordinator) || errors.Is(err, coordinator.ErrLoadInProgress) {
		return refuse(notController, textNotController)
	}
	return refuse(requestTimedOut, textTimedOut)
}
