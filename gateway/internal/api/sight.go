// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// sight is the topics as one client may see them.
type sight struct {
	view   *bridge.TopicView
	access *permissions.Access
}

// topics is what a client may see of the topics.
func (a *API) topics(ctx context.Context, conn *server.Conn) (sight, error) {
	access, err := a.access(ctx, conn)
	if err != nil {
		return sight{}, err
	}
	view, err := a.Bridge.Topics(ctx)
	return sight{view, access}, err
}

// topicsIfAny is topics, and none where there is no Iggy.
func (a *API) topicsIfAny(ctx context.Context, conn *server.Conn) (sight, error) {
	if a.Bridge == nil {
		return sight{new(bridge.TopicView), a.everything}, nil
	}
	return a.topics(ctx, conn)
}

// find looks a topic up for a client that needs one of the wanted rights to it; the code says why there is none.
func (s sight) find(ref topicRef, wanted permissions.Rights) (*bridge.Topic, int16) {
	t, code := lookUp(s.view, ref)
	return s.allow(t, code, ref.name, wanted)
}

// allow hides a topic that was looked up from a client that has none of the wanted rights to it. A name that no topic has is
// hidden as well, from who would not have such a right in the stream in which there could be one.
func (s sight) allow(t *bridge.Topic, code int16, name string, wanted permissions.Rights) (*bridge.Topic, int16) {
	switch {
	case code == none && !s.access.Rights(t).Any(wanted), code == unknownTopicOrPartition && !s.rightsTo(name).Any(wanted):
		return nil, topicAuthorizationFailed
	}
	return t, code
}

// all lists the topics to which a client has one of the wanted rights.
func (s sight) all(wanted permissions.Rights) []*bridge.Topic {
	if s.access.RightsEverywhere().Any(wanted) {
		return s.view.Topics
	}
	var topics []*bridge.Topic
	for _, t := range s.view.Topics {
		if s.access.Rights(t).Any(wanted) {
			topics = append(topics, t)
		}
	}
	return topics
}

// rightsTo are those to a topic that is not there, as one who makes it has them.
func (s sight) rightsTo(name string) permissions.Rights {
	if stream, ok := s.view.StreamOf(name); ok {
		return s.access.RightsIn(stream)
	}
	return s.access.RightsEverywhere()
}

// lookUp finds a topic, whoever may see it; the code says why there is none.
func lookUp(view *bridge.TopicView, ref topicRef) (*bridge.Topic, int16) {
	if ref.id != (bridge.TopicID{}) {
		return lookUpID(view, ref.id)
	}
	if t, ok := view.ByName(ref.name); ok {
		return t, none
	}
	return nil, unknownTopicOrPartition
}

func lookUpID(view *bridge.TopicView, id bridge.TopicID) (*bridge.Topic, int16) {
	if t, ok := view.ByID(id); ok {
		return t, none
	}
	return nil, unknownTopicID
}
