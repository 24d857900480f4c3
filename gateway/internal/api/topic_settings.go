// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"maps"

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

// storeRefusal is why settings or quotas were not stored.
func storeRefusal(err error) *refusal {
	if errors.Is(err, coordinator.ErrNotCoordinator) || errors.Is(err, coordinator.ErrLoadInProgress) {
		return refuse(notController, textNotController)
	}
	return refuse(requestTimedOut, textTimedOut)
}
