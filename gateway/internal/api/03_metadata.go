// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// Metadata (3), v0-13.
//
// v1: brokers' racks, controller, is_internal; a null list asks for all topics, an empty one for none (v0: empty asks
// for all). v2: cluster id. v3: throttle. v4: allow_auto_topic_creation. v5: offline replicas. v7: leader epoch.
// v8: authorized operations (KIP-430). v9: flexible. v10: topic ids (KIP-516). v12: asking by topic id. v13: a
// top-level error code.

const operationsNotAsked = -2147483648

// metadataTimeout bounds what one answer waits for Iggy.
const metadataTimeout = 5 * time.Second

// topicRef is how a request names a topic: by name, or by id from some version on.
type topicRef struct {
	name string
	id   bridge.TopicID
}

func (a *API) metadata(ctx context.Context, conn *server.Conn, req *kmsg.MetadataRequest) (server.Reply, error) {
	if resp := refuseMetadata(req); resp != nil {
		return server.NewReply(resp), nil
	}
	asking, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	if asksForAll(req) {
		see, err := a.topics(asking, conn)
		if err != nil {
			// An answer without topics would be a lie that no client retries; a closed connection is retried.
			return server.Reply{}, fmt.Errorf("api: metadata of all topics: %w", err)
		}
		return a.describeAll(ctx, conn, req, see)
	}
	refs := metadataRefs(req)
	if len(refs) == 0 {
		access, _ := a.access(asking, conn) // not known: the operations are not told
		return server.NewReply(a.metadataResponse(conn, req, access)), nil
	}
	see, err := a.topicsNamed(asking, conn, refs)
	if err == nil && a.AutoCreateTopics && mayAutoCreate(req) {
		see.view, err = a.autoCreate(asking, a.session(conn), refs, see)
	}
	return a.describeNamed(ctx, conn, req, refs, see, err)
}

// missingAge is how old the news that a topic does not exist may be: a native client may just have made it.
const missingAge = 100 * time.Millisecond

// topicsNamed is topics, looked at anew when a topic that is asked for is missing.
func (a *API) topicsNamed(ctx context.Context, conn *server.Conn, refs []topicRef) (sight, error) {
	see, err := a.topics(ctx, conn)
	if err != nil {
		return see, err
	}
	for _, ref := range refs {
		if _, code := lookUp(see.view, ref); code != none {
			see.view, err = a.Bridge.TopicsWithin(ctx, missingAge)
			break
		}
	}
	return see, err
}

// describeAll answers every topic that the client may see, as far as the largest answer allows.
func (a *API) describeAll(ctx context.Context, conn *server.Conn, req *kmsg.MetadataRequest, see sight) (server.Reply, error) {
	topics := see.all(permissions.Describe)
	size, count := 0, 0
	for _, t := range topics {
		if size+metadataSize(t.Name, t) > a.MaxResponseSize {
			a.Logger.Warn("metadata of all topics cut at the largest answer", "topics", len(topics), "answered", count)
			break
		}
		size += metadataSize(t.Name, t)
		count++
	}
	release, err := a.reserve(ctx, int64(size))
	if err != nil {
		return server.Reply{}, err
	}
	resp := a.metadataResponse(conn, req, see.access)
	for _, t := range topics[:count] {
		resp.Topics = append(resp.Topics, a.describeTopic(req, t, see.access))
	}
	return server.NewReservedReply(resp, release), nil
}

// describeNamed answers the topics that are asked for; failed is why there is no view.
func (a *API) describeNamed(ctx context.Context, conn *server.Conn, req *kmsg.MetadataRequest, refs []topicRef, see sight, failed error) (server.Reply, error) {
	size := 0
	for _, ref := range refs {
		var t *bridge.Topic
		if failed == nil {
			t, _ = see.find(ref, permissions.Describe)
		}
		size += metadataSize(ref.name, t)
	}
	release, err := a.reserve(ctx, int64(size))
	if err != nil {
		return server.Reply{}, err
	}
	resp := a.metadataResponse(conn, req, see.access)
	described := make(map[bridge.TopicID]struct{}, len(refs))
	for _, ref := range refs {
		out := a.metadataTopic(req, ref, see, failed)
		if out.ErrorCode == none {
			if _, again := described[out.TopicID]; again {
				continue // by its id, and by its name
			}
			described[out.TopicID] = struct{}{}
		}
		resp.Topics = append(resp.Topics, out)
	}
	return server.NewReservedReply(resp, release), nil
}

// metadataSize bounds what a topic, nil for a missing one, takes in a Metadata answer, in bytes.
func metadataSize(name string, t *bridge.Topic) int {
	const topicBytes, partitionBytes = 48, 48
	size := topicBytes + len(name)
	if t != nil {
		size += len(t.Name) + partitionBytes*int(t.Partitions)
	}
	return size
}

// refuseMetadata answers a request that mixes what its version does not allow, as KafkaApis does: every topic with
// the same code, and no brokers.
func refuseMetadata(req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	code := none
	for i := range req.Topics {
		t := &req.Topics[i]
		switch hasID := t.TopicID != (bridge.TopicID{}); {
		case req.Version < 12 && (hasID || t.Topic == nil):
			code = invalidRequest
		case t.Topic == nil && !hasID:
			code = unknownServerError
		}
	}
	if code == none {
		return nil
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	resp.ControllerID = -1
	resp.ErrorCode = code // v13
	for i := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = code, kmsg.StringPtr(""), req.Topics[i].TopicID
		if req.Topics[i].Topic != nil {
			t.Topic = req.Topics[i].Topic
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// asksForAll: a null list, or in v0, which has no null, an empty one.
func asksForAll(req *kmsg.MetadataRequest) bool {
	return req.Topics == nil || req.Version == 0 && len(req.Topics) == 0
}

// mayAutoCreate: v0-3 have no flag and mean yes.
func mayAutoCreate(req *kmsg.MetadataRequest) bool {
	return req.Version < 4 || req.AllowAutoTopicCreation
}

// metadataRefs lists what is asked for, each once, in the order of the request.
func metadataRefs(req *kmsg.MetadataRequest) []topicRef {
	refs := make([]topicRef, 0, len(req.Topics))
	seen := make(map[topicRef]struct{}, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		ref := topicRef{id: t.TopicID}
		if t.Topic != nil && ref.id == (bridge.TopicID{}) {
			ref.name = *t.Topic
		}
		if _, twice := seen[ref]; !twice {
			seen[ref] = struct{}{}
			refs = append(refs, ref)
		}
	}
	return refs
}

// metadataResponse is the answer without topics; access is nil when it is not known.
func (a *API) metadataResponse(conn *server.Conn, req *kmsg.MetadataRequest, access *permissions.Access) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Host, broker.Port = a.NodeID, conn.AdvertisedHost(), conn.AdvertisedPort()
	resp.Brokers = append(resp.Brokers, broker)
	resp.ClusterID = kmsg.StringPtr(a.ClusterID)
	resp.ControllerID = a.NodeID
	resp.AuthorizedOperations = operationsNotAsked
	if req.IncludeClusterAuthorizedOperations && access != nil {
		resp.AuthorizedOperations = int32(access.ClusterOperations())
	}
	return resp
}

// metadataTopic answers for one topic; err is why there is no view.
func (a *API) metadataTopic(req *kmsg.MetadataRequest, ref topicRef, see sight, err error) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.TopicID = ref.id
	byName := ref.id == bridge.TopicID{}
	if byName {
		out.Topic = kmsg.StringPtr(ref.name)
	}
	if err != nil {
		if out.ErrorCode = a.code(opMetadata, err, false); byName && bridge.ValidateTopicName(ref.name) != nil {
			out.ErrorCode = invalidTopicException
		}
		return out
	}
	t, code := see.find(ref, permissions.Describe)
	switch {
	case code == none:
		return a.describeTopic(req, t, see.access)
	case code != unknownTopicOrPartition:
	case bridge.ValidateTopicName(ref.name) != nil:
		code = invalidTopicException
	case a.AutoCreateTopics && mayAutoCreate(req) && !see.rightsTo(ref.name).Any(permissions.Manage):
		code = topicAuthorizationFailed // it would have been made
	}
	if byName && code != topicAuthorizationFailed && req.IncludeTopicAuthorizedOperations {
		out.AuthorizedOperations = int32(see.rightsTo(ref.name).Operations()) // of a topic that is missing, too
	}
	out.ErrorCode = code
	return out
}

func (a *API) describeTopic(req *kmsg.MetadataRequest, t *bridge.Topic, access *permissions.Access) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = kmsg.StringPtr(t.Name), t.ID, t.Internal
	if req.IncludeTopicAuthorizedOperations {
		out.AuthorizedOperations = int32(access.Rights(t).Operations())
	}
	self := []int32{a.NodeID}
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, t.Partitions)
	for i := range out.Partitions {
		p := &out.Partitions[i]
		p.Default()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), a.NodeID, leaderEpoch
		p.Replicas, p.ISR = self, self
	}
	return out
}

// autoCreate makes the topics that are named, allowed and missing, as s's user, and returns a view that has them. Somebody
// else who was faster counts as success; what cannot be made stays missing.
func (a *API) autoCreate(ctx context.Context, s *bridge.Session, refs []topicRef, see sight) (*bridge.TopicView, error) {
	made := map[string]string{}
	tried := false
	for _, ref := range refs {
		if len(made) == maxAutoCreate || ctx.Err() != nil {
			break // the rest when it asks again
		}
		if ref.id != (bridge.TopicID{}) || !see.rightsTo(ref.name).Any(permissions.Manage) || a.checkNewName(see, made, ref.name) != nil {
			continue
		}
		tried = true
		_, err := a.Bridge.CreateTopic(ctx, s, bridge.TopicSpec{Name: ref.name, Partitions: a.DefaultPartitions})
		if err != nil && !bridge.IsExists(err) {
			a.logFailure("topic not created automatically", err)
			continue
		}
		made[bridge.CollisionKey(ref.name)] = ref.name
	}
	if !tried {
		return see.view, nil
	}
	return a.Bridge.Topics(ctx)
}

// maxAutoCreate is how many topics one request creates by naming them.
const maxAutoCreate = 256

// isInternal: clients may read such a topic and not write, make or delete it.
func (a *API) isInternal(name string) bool { return slices.Contains(a.InternalTopics, name) }

// metadataDetached knows no topic.
func (a *API) metadataDetached(_ context.Context, conn *server.Conn, req *kmsg.MetadataRequest) (kmsg.Response, error) {
	if resp := refuseMetadata(req); resp != nil {
		return resp, nil
	}
	resp := a.metadataResponse(conn, req, a.everything)
	if asksForAll(req) {
		return resp, nil
	}
	empty := sight{new(bridge.TopicView), a.everything}
	for _, ref := range metadataRefs(req) {
		resp.Topics = append(resp.Topics, a.metadataTopic(req, ref, empty, nil))
	}
	return resp, nil
}
