// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DeleteTopics (20), v1-6.
//
// v1: throttle. v4: flexible. v5: error messages. v6: topics by id as well (KIP-516).

func (a *API) deleteTopics(ctx context.Context, conn *server.Conn, req *kmsg.DeleteTopicsRequest) (kmsg.Response, error) {
	ctx, cancel := within(ctx, req.TimeoutMillis, a.ProduceTimeoutMax)
	defer cancel()
	resp := kmsg.NewPtrDeleteTopicsResponse()
	resp.Version = req.Version

	topics := topicsToDelete(req)
	count := map[topicRef]int{}
	for i := range topics {
		count[refOf(&topics[i])]++
	}
	see, err := a.topics(ctx, conn)
	twice := map[bridge.TopicID]bool{} // to be deleted by id and by name
	for ref := range count {
		if id := idOf(see, ref.name); id != (bridge.TopicID{}) && count[topicRef{id: id}] > 0 {
			twice[id] = true
		}
	}
	for i := range topics {
		t := &topics[i]
		ref := refOf(t)
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID = t.Topic, t.TopicID
		switch n := count[ref]; {
		case n == 0: // a repeated topic, answered at its first place
			continue
		case t.Topic == nil && ref.id == bridge.TopicID{}:
			out.ErrorCode, out.ErrorMessage = invalidRequest, message("Neither topic name nor id were specified.")
		case t.Topic != nil && ref.id != bridge.TopicID{}:
			out.ErrorCode, out.ErrorMessage = invalidRequest, message("You may not specify both topic name and topic id.")
		case n > 1:
			count[ref] = 0
			text := textDuplicateTopic
			if t.Topic == nil {
				text = "Duplicate topic id."
			}
			out.ErrorCode, out.ErrorMessage = invalidRequest, &text
		case req.TimeoutMillis <= 0:
			out.ErrorCode = requestTimedOut // and nothing is done
		case err != nil:
			out.ErrorCode = a.code(opDeleteTopics, err, false)
			out.ErrorMessage = errorText(out.ErrorCode)
		case t.Topic == nil && twice[ref.id]:
			continue // answered where it is named
		case t.Topic != nil && twice[idOf(see, *t.Topic)]:
			out.TopicID = idOf(see, *t.Topic)
			out.ErrorCode, out.ErrorMessage = invalidRequest, message("The provided topic name maps to an ID that was already supplied.")
		default:
			a.deleteTopic(ctx, a.session(conn), see, ref, &out)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, nil
}

// topicsToDelete brings both forms of the request into the one of v6.
func topicsToDelete(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= 6 {
		return req.Topics
	}
	topics := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range req.TopicNames {
		topics[i].Topic = &req.TopicNames[i]
	}
	return topics
}

func refOf(t *kmsg.DeleteTopicsRequestTopic) topicRef {
	ref := topicRef{id: t.TopicID}
	if t.Topic != nil {
		ref.name = *t.Topic
	}
	return ref
}

// idOf is the id of a topic that is there and may be deleted, or zero.
func idOf(see sight, name string) bridge.TopicID {
	if see.view == nil {
		return bridge.TopicID{}
	}
	if t, code := see.find(topicRef{name: name}, permissions.Manage); code == none {
		return t.ID
	}
	return bridge.TopicID{}
}

func (a *API) deleteTopic(ctx context.Context, s *bridge.Session, see sight, ref topicRef, out *kmsg.DeleteTopicsResponseTopic) {
	t, code := see.find(ref, permissions.Manage)
	if code == topicAuthorizationFailed && ref.name == "" { // who may know of the topic is told what it is called
		if seen, no := see.find(ref, permissions.Describe); no == none {
			out.Topic = &seen.Name
		}
	}
	if code == none && t.Internal {
		code = invalidTopicException
	}
	if code == none {
		out.Topic, out.TopicID = &t.Name, t.ID
		err := a.Bridge.DeleteTopic(ctx, s, t)
		if code = a.code(opDeleteTopics, err, false); err == nil {
			a.forgetTopic(ctx, t)
		}
	}
	out.ErrorCode, out.ErrorMessage = code, errorText(code)
}

// forgetTopic drops what is kept about a topic that is no more: offsets, settings. What fails is done again by whoever
// notices that the topic is gone; nobody is served any of it meanwhile, as a new topic of that name has another id.
func (a *API) forgetTopic(ctx context.Context, t *bridge.Topic) {
	id := t.ID.String()
	err := errors.Join(
		a.Groups.DropTopic(ctx, coordinator.DropTopic{Topic: t.Name, TopicID: id}),
		a.Topics.DropTopic(ctx, id),
	)
	if err != nil && !a.fenced() {
		a.logFailure("a deleted topic's offsets and settings not dropped yet", err)
	}
}

func (a *API) deleteTopicsDetached(_ context.Context, _ *server.Conn, req *kmsg.DeleteTopicsRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	resp.Version = req.Version
	topics := topicsToDelete(req)
	for i := range topics {
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID = topics[i].Topic, topics[i].TopicID
		out.ErrorCode, out.ErrorMessage = notController, message(textNotController)
		resp.Topics = append(resp.Topics, out)
	}
	return resp, nil
}
