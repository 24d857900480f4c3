// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
)

// fetchIDsSince is the first version of Fetch that names topics by id.
const fetchIDsSince = 13

// admit finds the topics and answers what can be answered without looking at the partitions.
func (f *fetchRun) admit(ctx context.Context) {
	ctx, cancel := f.askContext(ctx)
	defer cancel()
	f.api.awaitSettings(ctx)
	see, err := f.api.topics(ctx, f.conn)
	f.access = see.access
	f.live = make([]*fetchItem, 0, len(f.items))
	var topic *bridge.Topic
	allowed := true
	for i := range f.items {
		it := &f.items[i]
		if err == nil && (i == 0 || it.Topic != f.items[i-1].Topic) {
			topic, allowed = f.find(see, it.Topic)
		}
		it.topic, it.err = topic, err
		if it.code = f.admitPartition(it, see.view, allowed); it.code == none {
			f.live = append(f.live, it)
		}
	}
}

// find looks a topic up; allowed says whether the client may read it.
func (f *fetchRun) find(see sight, t *fetchsession.Topic) (topic *bridge.Topic, allowed bool) {
	var code int16
	if f.req.Version >= fetchIDsSince {
		topic, code = lookUpID(see.view, t.ID)
	} else {
		topic, code = lookUp(see.view, topicRef{name: t.Name})
	}
	_, code = see.allow(topic, code, t.Name, permissions.Poll)
	return topic, code != topicAuthorizationFailed
}

// admitPartition: a partition that does not exist, or that the client may not read, is answered with the others, however
// long they wait, as a broker does that looks it up in its metadata; what the partition itself refuses ends the wait.
func (f *fetchRun) admitPartition(it *fetchItem, view *bridge.TopicView, allowed bool) int16 {
	if it.err != nil {
		return none // answered after the wait
	}
	if !allowed {
		it.missing = true
		return topicAuthorizationFailed
	}
	if it.topic == nil || it.Partition < 0 || it.Partition >= it.topic.Partitions {
		code := f.missing(it, view)
		it.missing = code != inconsistentTopicID
		f.failed = f.failed || !it.missing
		return code
	}
	code := checkEpoch(it.LeaderEpoch)
	if code == none && f.replica() >= 0 { // a broker that wants to follow
		code = notLeaderOrFollower
	}
	f.failed = f.failed || code != none
	return code
}

// missing is the code of a partition that is not there. Of a topic id that its session knew a broker still has the name:
// the id is inconsistent with it once another topic has that name.
func (f *fetchRun) missing(it *fetchItem, view *bridge.TopicView) int16 {
	if it.topic != nil || f.req.Version < fetchIDsSince {
		return unknownTopicOrPartition
	}
	if it.Resolved == "" {
		return unknownTopicID
	}
	if _, there := view.ByName(it.Resolved); there {
		return inconsistentTopicID
	}
	return unknownTopicOrPartition
}

// recheck refuses what the client may not read any more. A fetch may wait for long, and where partitions end is known without
// asking Iggy on the client's behalf. The error closes the connection.
func (f *fetchRun) recheck(ctx context.Context) error {
	access, err := f.api.access(ctx, f.conn)
	switch {
	case errors.Is(err, bridge.ErrRefused):
		return err
	case err != nil, access == f.access:
		return nil
	}
	f.access = access
	for _, it := range f.live {
		if it.topic != nil && it.code == none && !access.Rights(it.topic).Any(permissions.Poll) {
			it.code, it.missing = topicAuthorizationFailed, true
		}
	}
	return nil
}

// replica is who fetches; consumers have negative numbers (KIP-903 moved it).
func (f *fetchRun) replica() int32 {
	if f.req.Version >= 15 {
		return f.req.ReplicaState.ID
	}
	return f.req.ReplicaID
}

// checkEpoch compares the leader epoch that a client knows; -1 is no comparison (KIP-320).
func checkEpoch(epoch int32) int16 {
	switch {
	case epoch < 0 || epoch == leaderEpoch:
		return none
	case epoch < leaderEpoch:
		return fencedLeaderEpoch
	default:
		return unknownLeaderEpoch
	}
}
