// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"maps"
)

// What belongs to no group lives in partition 0. The methods that change it return when that is durable. Their errors:
// coordinator.ErrLoadInProgress until the state is loaded, coordinator.ErrNotCoordinator for a gateway that was fenced,
// coordinator.ErrNotAvailable with the cause, or ctx's, after which the change may still come. The methods that read it
// find nothing until the state is loaded.

func (l *Log) common() *partition { return l.partitions[0] }

// look calls a function with the state of partition 0, once that is loaded.
func (l *Log) look(at func(*view)) {
	select {
	case <-l.loaded:
	default:
		return
	}
	p := l.common()
	p.state.RLock()
	defer p.state.RUnlock()
	at(p.fold.view)
}

// ReserveProducerIDs gives an instance n producer ids that were never given to it before: those from first on. first is not
// below least.
func (l *Log) ReserveProducerIDs(ctx context.Context, instance int32, least, n int64) (first int64, err error) {
	select {
	case l.reserving <- struct{}{}:
		defer func() { <-l.reserving }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	l.look(func(v *view) { first = max(v.producers[instance], least) })
	return first, l.write(ctx, l.common(), producerIDs{instance, first + n})
}

// TopicSettings returns the settings of a topic. ok is false if it has none. The topic ids here and below are the caller's
// own strings.
func (l *Log) TopicSettings(topicID string) (settings map[string]string, ok bool) {
	l.look(func(v *view) {
		if t := v.topics[topicID]; t != nil && len(t.settings) > 0 {
			settings, ok = maps.Clone(t.settings), true
		}
	})
	return settings, ok
}

// SettingsVersion changes whenever TopicSettings may answer something else than before, and when the state is loaded: what was
// read after asking for the version holds for as long as the version is the same.
func (l *Log) SettingsVersion() (version uint64) {
	l.look(func(v *view) { version = 1 + v.settingsChanges })
	return version
}

// SetTopicSettings replaces all settings of a topic; an empty map removes them. The name is kept for people to read.
func (l *Log) SetTopicSettings(ctx context.Context, topicID, name string, settings map[string]string) error {
	return l.write(ctx, l.common(), topicSettings{topicID, name, settings})
}

// LogStart says where clients see a partition begin that keeps more than that: what lies before Offset is hidden from them, if
// the partition had it by Until, a time in µs since 1970 by the clock of whoever keeps the records. A partition that was cut
// back since and filled again has something newer there, which is not hidden.
type LogStart struct {
	Offset int64
	Until  uint64
}

// LogStarts returns the log starts that are set for partitions of a topic, nil if there are none.
func (l *Log) LogStarts(topicID string) (starts map[int32]LogStart) {
	l.look(func(v *view) {
		if t := v.topics[topicID]; t != nil && len(t.logStarts) > 0 {
			starts = maps.Clone(t.logStarts)
		}
	})
	return starts
}

// SetLogStart sets where a partition begins, forward or back; the zero LogStart removes it. The name is kept for people to
// read.
func (l *Log) SetLogStart(ctx context.Context, topicID, name string, partition int32, start LogStart) error {
	return l.write(ctx, l.common(), logStart{topicID, name, partition, start})
}

// Topics returns the ids of the topics that settings or log starts are kept for, with the names that came with them.
func (l *Log) Topics() map[string]string {
	names := map[string]string{}
	l.look(func(v *view) {
		for id, t := range v.topics {
			names[id] = t.name
		}
	})
	return names
}

// DropTopic forgets the settings and log starts of a topic.
func (l *Log) DropTopic(ctx context.Context, topicID string) error {
	return l.write(ctx, l.common(), topicRemoved{topicID})
}

// Quotas returns all client quotas by their keys. What a key and its values mean is the caller's.
func (l *Log) Quotas() map[string]map[string]string {
	all := map[string]map[string]string{}
	l.look(func(v *view) {
		for key, values := range v.quotas {
			all[key] = maps.Clone(values)
		}
	})
	return all
}

// QuotasVersion changes whenever Quotas may answer something else than before, as SettingsVersion does: not later than Loaded
// is closed, too. It waits for nobody, for those who ask it for every request.
func (l *Log) QuotasVersion() uint64 {
	select {
	case <-l.loaded:
		return 1 + l.common().quotas.Load()
	default:
		return 0
	}
}

// SetQuota replaces all values of a client quota; an empty map removes it.
func (l *Log) SetQuota(ctx context.Context, key string, values map[string]string) error {
	return l.write(ctx, l.common(), quota{key, values})
}
