// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// CreateTopics (19), v2-7.
//
// v2: throttle. v4: -1 partitions or replicas mean the default (KIP-464). v5: flexible; the answer tells partitions,
// replicas and settings (KIP-525). v7: the answer tells the topic id.

const (
	maxPartitions = iggywire.MaxPartitions
	// replicas is what every topic reports: replication is Iggy's own business.
	replicas = 1
)

// refusal is a Kafka error code with a text for the client.
type refusal struct {
	code int16
	text string
}

func refuse(code int16, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// These bound what a client can make of Iggy and of this process. The first is KRaft's, for one request.
const (
	maxPartitionsPerRequest = 10_000
	maxTopics               = 100_000
)

func (a *API) createTopics(ctx context.Context, conn *server.Conn, req *kmsg.CreateTopicsRequest) (server.Reply, error) {
	release, err := a.reserve(ctx, createTopicsSize(req))
	if err != nil {
		return server.Reply{}, err
	}
	ctx, cancel := within(ctx, req.TimeoutMillis, a.ProduceTimeoutMax)
	defer cancel()
	resp := kmsg.NewPtrCreateTopicsResponse()
	resp.Version = req.Version
	if a.partitionsAsked(req) > maxPartitionsPerRequest {
		for i := range req.Topics {
			resp.Topics = append(resp.Topics, refusedTopic(req.Topics[i].Topic,
				refuse(policyViolation, "Excessively large number of partitions per request.")))
		}
		return server.NewReservedReply(resp, release), nil
	}

	count := map[string]int{}
	for i := range req.Topics {
		count[req.Topics[i].Topic]++
	}
	see, seeErr := a.topics(ctx, conn)
	made := map[string]string{} // collision key -> name, of this request
	for i := range req.Topics {
		t := &req.Topics[i]
		switch n := count[t.Topic]; {
		case n == 0: // a repeated name, answered at its first place
			continue
		case n > 1:
			count[t.Topic] = 0
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, refuse(invalidRequest, textDuplicateTopic)))
			continue
		}
		if req.TimeoutMillis <= 0 { // and nothing is done
			late := refusedTopic(t.Topic, &refusal{code: requestTimedOut})
			late.ErrorMessage = nil
			resp.Topics = append(resp.Topics, late)
			continue
		}
		if seeErr != nil {
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, a.refusalOf(opCreateTopics, seeErr)))
			continue
		}
		resp.Topics = append(resp.Topics, a.createTopic(ctx, a.session(conn), req, t, see, made))
	}
	return server.NewReservedReply(resp, release), nil
}

// createTopicsSize bounds the answer, in bytes: from v5 on it lists every setting of every topic.
func createTopicsSize(req *kmsg.CreateTopicsRequest) int64 {
	const topicBytes, settingsBytes = 256, 4096
	size := 64
	for i := range req.Topics {
		size += topicBytes + 2*len(req.Topics[i].Topic)
		if req.Version >= 5 {
			size += settingsBytes
			for j := range req.Topics[i].Configs {
				if v := req.Topics[i].Configs[j].Value; v != nil {
					size += len(*v)
				}
			}
		}
	}
	return int64(size)
}

// partitionsAsked is how many partitions a request would make.
func (a *API) partitionsAsked(req *kmsg.CreateTopicsRequest) int64 {
	var n int64
	for i := range req.Topics {
		switch t := &req.Topics[i]; {
		case len(t.ReplicaAssignment) > 0:
			n += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			n += int64(a.DefaultPartitions)
		default:
			n += int64(max(t.NumPartitions, 0))
		}
	}
	return n
}

// createTopic creates or, when asked to validate only, checks one topic.
func (a *API) createTopic(ctx context.Context, s *bridge.Session, req *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic, see sight, made map[string]string) kmsg.CreateTopicsResponseTopic {
	if !see.rightsTo(t.Topic).Any(permissions.Manage) {
		return refusedTopic(t.Topic, refuse(topicAuthorizationFailed, "Authorization failed."))
	}
	if no := a.checkNewName(see, made, t.Topic); no != nil {
		return refusedTopic(t.Topic, no)
	}
	settings, no := a.newSettings(t.Configs)
	if no != nil {
		return refusedTopic(t.Topic, no)
	}
	partitions, no := a.newPartitions(t)
	if no != nil {
		return refusedTopic(t.Topic, no)
	}
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.NumPartitions, out.ReplicationFactor = t.Topic, partitions, replicas
	if req.ValidateOnly {
		// A broker answers the id of a topic that it then does not create.
		_, _ = io.ReadFull(a.Rand, out.TopicID[:])
	} else {
		topic, no := a.makeTopic(ctx, s, t.Topic, partitions, settings)
		if no != nil {
			return refusedTopic(t.Topic, no)
		}
		out.TopicID = topic.ID
		settings = topicconfig.Own(topic, settings)
	}
	made[bridge.CollisionKey(t.Topic)] = t.Topic
	out.Configs = a.createdConfigs(settings)
	return out
}

// refusedTopic answers for a topic that was not created.
func refusedTopic(name string, no *refusal) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.ErrorCode, out.ErrorMessage = name, no.code, &no.text
	out.NumPartitions, out.ReplicationFactor = -1, -1
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return out
}

// refusalOf puts a bridge error into words for a client.
func (a *API) refusalOf(op operation, err error) *refusal {
	code := a.code(op, err, false)
	return &refusal{code: code, text: *errorText(code)}
}

// checkNewName says why a topic of that name cannot be created; nil if it can.
func (a *API) checkNewName(see sight, made map[string]string, name string) *refusal {
	if err := bridge.ValidateTopicName(name); err != nil {
		return refuse(invalidTopicException, "%s", err.Error())
	}
	if a.isInternal(name) {
		return refuse(invalidTopicException, "Topic '%s' is internal.", name)
	}
	if _, exists := see.view.ByName(name); exists {
		return alreadyExists(name)
	}
	other, collides := see.view.Colliding(name)
	if !collides {
		other, collides = made[bridge.CollisionKey(name)]
	} else if _, no := see.find(topicRef{name: other}, permissions.Describe); no != none {
		return refuse(invalidTopicException, "Topic '%s' collides with an existing topic.", name) // of a stream that the client may not see
	}
	if collides {
		return refuse(invalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	if len(see.view.Topics)+len(made) >= maxTopics {
		return refuse(policyViolation, "There are %d topics, the most that the gateway holds.", maxTopics)
	}
	return nil
}

// newSettings checks the settings of a new topic; of one that is named twice the last value counts.
func (a *API) newSettings(configs []kmsg.CreateTopicsRequestTopicConfig) (map[string]string, *refusal) {
	settings := make(map[string]string, len(configs))
	var nulls []string
	for i := range configs {
		if c := &configs[i]; c.Value != nil {
			settings[c.Name] = *c.Value
		} else {
			nulls = append(nulls, c.Name)
		}
	}
	if len(nulls) > 0 {
		return nil, refuse(invalidConfig, "Null value not supported for topic configs: %s", strings.Join(nulls, ","))
	}
	return settings, a.checkSettings(settings)
}

// newPartitions says how many partitions a new topic gets, checked in the order of Kafka's ReplicationControlManager.
func (a *API) newPartitions(t *kmsg.CreateTopicsRequestTopic) (int32, *refusal) {
	n := t.NumPartitions
	switch {
	case len(t.ReplicaAssignment) > 0:
		if no := a.checkAssignment(t); no != nil {
			return 0, no
		}
		n = int32(len(t.ReplicaAssignment))
	case t.ReplicationFactor == 0 || t.ReplicationFactor < -1:
		return 0, refuse(invalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case n == 0 || n < -1:
		return 0, refuse(invalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case n == -1:
		n = a.DefaultPartitions
	}
	if n > maxPartitions {
		return 0, tooManyPartitions(n)
	}
	return n, nil
}

func tooManyPartitions(n int32) *refusal {
	return refuse(invalidPartitions, "Number of partitions %d is above %d, the most that a topic can have.", n, maxPartitions)
}

// checkAssignment checks a manual assignment: partitions 0 to n-1, each on this one broker.
func (a *API) checkAssignment(t *kmsg.CreateTopicsRequestTopic) *refusal {
	switch {
	case t.ReplicationFactor != -1:
		return refuse(invalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.NumPartitions != -1:
		return refuse(invalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	numbers := make([]int32, 0, len(t.ReplicaAssignment))
	for i := range t.ReplicaAssignment {
		p := &t.ReplicaAssignment[i]
		if slices.Contains(numbers, p.Partition) {
			return refuse(invalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", p.Partition)
		}
		if no := a.checkReplicas(p.Replicas); no != nil {
			return no
		}
		numbers = append(numbers, p.Partition)
		if len(numbers) > maxPartitions {
			return refuse(invalidPartitions, "Number of partitions is above %d, the most that a topic can have.", maxPartitions)
		}
	}
	if len(numbers) > 0 && (slices.Min(numbers) != 0 || int(slices.Max(numbers)) != len(numbers)-1) {
		return refuse(invalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
	}
	return nil
}

// checkReplicas checks the assignment of one partition: to this one broker.
func (a *API) checkReplicas(nodes []int32) *refusal {
	if len(nodes) == 0 {
		return refuse(invalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	for i, node := range nodes {
		switch {
		case node != a.NodeID:
			return refuse(invalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", node)
		case i > 0:
			return refuse(invalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", node)
		}
	}
	return nil
}

// createdConfigs lists every setting of a new topic, with what was set.
func (a *API) createdConfigs(own map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	out := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(a.configs.All()))
	for _, key := range a.configs.All() {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = key.Name, &key.Default, int8(kmsg.ConfigSourceDefaultConfig)
		if v, ok := own[key.Name]; ok {
			c.Value, c.Source = &v, int8(kmsg.ConfigSourceDynamicTopicConfig)
		}
		out = append(out, c)
	}
	return out
}

func (a *API) createTopicsDetached(_ context.Context, _ *server.Conn, req *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrCreateTopicsResponse()
	resp.Version = req.Version
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, refusedTopic(req.Topics[i].Topic, refuse(notController, textNotController)))
	}
	return resp, nil
}
