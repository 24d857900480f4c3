// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
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

func (a *API) createTopics(ctx context.Context, _ *server.Conn, req *kmsg.CreateTopicsRequest) (server.Reply, error) {
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
	view, viewErr := a.Bridge.Topics(ctx)
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
		if viewErr != nil {
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, a.refusalOf(opCreateTopics, viewErr)))
			continue
		}
		resp.Topics = append(resp.Topics, a.createTopic(ctx, req, t, view, made))
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
func (a *API) createTopic(ctx context.Context, req *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic, view *bridge.TopicView, made map[string]string) kmsg.CreateTopicsResponseTopic {
	if no := a.checkNewName(view, made, t.Topic); no != nil {
		return refusedTopic(t.Topic, no)
	}
	spec, no := a.topicSpec(t)
	if no != nil {
		return refusedTopic(t.Topic, no)
	}
	var id bridge.TopicID
	if req.ValidateOnly {
		// A broker answers the id of a topic that it then does not create.
		_, _ = io.ReadFull(a.Rand, id[:])
	} else if id, no = a.makeTopic(ctx, spec, settingsToKeep(t.Configs)); no != nil {
		return refusedTopic(t.Topic, no)
	}
	made[bridge.CollisionKey(t.Topic)] = t.Topic

	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.TopicID = t.Topic, id
	out.NumPartitions, out.ReplicationFactor = spec.Partitions, replicas
	out.Configs = a.createdConfigs(t.Configs)
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
func (a *API) checkNewName(view *bridge.TopicView, made map[string]string, name string) *refusal {
	if err := bridge.ValidateTopicName(name); err != nil {
		return refuse(invalidTopicException, "%s", err.Error())
	}
	if a.isInternal(name) {
		return refuse(invalidTopicException, "Topic '%s' is internal.", name)
	}
	if _, exists := view.ByName(name); exists {
		return refuse(topicAlreadyExists, "Topic '%s' already exists.", name)
	}
	other, collides := view.Colliding(name)
	if !collides {
		other, collides = made[bridge.CollisionKey(name)]
	}
	if collides {
		return refuse(invalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	if len(view.Topics)+len(made) >= maxTopics {
		return refuse(policyViolation, "There are %d topics, the most that the gateway holds.", maxTopics)
	}
	return nil
}

// topicSpec checks partitions, replicas and settings, in the order of Kafka's ReplicationControlManager.
func (a *API) topicSpec(t *kmsg.CreateTopicsRequestTopic) (bridge.TopicSpec, *refusal) {
	spec := bridge.TopicSpec{Name: t.Topic, Partitions: t.NumPartitions}
	for i := range t.Configs {
		if err := a.configs.Validate(t.Configs[i].Name, t.Configs[i].Value); err != nil {
			return spec, refuse(invalidConfig, "%s", err.Error())
		}
	}
	switch {
	case len(t.ReplicaAssignment) > 0:
		if no := a.checkAssignment(t); no != nil {
			return spec, no
		}
		spec.Partitions = int32(len(t.ReplicaAssignment))
	case t.ReplicationFactor == 0 || t.ReplicationFactor < -1:
		return spec, refuse(invalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.NumPartitions == 0 || t.NumPartitions < -1:
		return spec, refuse(invalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case t.NumPartitions == -1:
		spec.Partitions = a.DefaultPartitions
	}
	if spec.Partitions > maxPartitions {
		return spec, refuse(invalidPartitions, "Number of partitions %d is above %d, the most that a topic can have.", spec.Partitions, maxPartitions)
	}
	setRetention(&spec, t.Configs)
	return spec, nil
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
		switch {
		case len(p.Replicas) == 0:
			return refuse(invalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
		case slices.Contains(numbers, p.Partition):
			return refuse(invalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", p.Partition)
		}
		for j, node := range p.Replicas {
			switch {
			case node != a.NodeID:
				return refuse(invalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", node)
			case j > 0:
				return refuse(invalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", node)
			}
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

// setRetention takes over the settings that Iggy holds itself; they have been validated. Iggy's 0 means the server's
// default, so Kafka's 0 becomes the smallest there is. Where the cleanup policy does not say delete, nothing is to
// expire whatever the server's default is: who sets compact alone, as Connect and Streams do, keeps state in the topic.
func setRetention(spec *bridge.TopicSpec, configs []kmsg.CreateTopicsRequestTopicConfig) {
	if !deletes(configs) {
		spec.MessageExpiry, spec.MaxSize = iggywire.NeverExpire, iggywire.UnlimitedSize
		return
	}
	for i := range configs {
		c := &configs[i]
		switch c.Name {
		case topicconfig.RetentionMs:
			spec.MessageExpiry = scaled(*c.Value, 1000, iggywire.NeverExpire)
		case topicconfig.RetentionBytes:
			spec.MaxSize = scaled(*c.Value, uint64(spec.Partitions), iggywire.UnlimitedSize)
		}
	}
}

// settingsToKeep are those that Iggy has no place for. Without the cleanup policy delete that is the retention, too.
func settingsToKeep(configs []kmsg.CreateTopicsRequestTopicConfig) map[string]string {
	settings := map[string]string{}
	inIggy := deletes(configs)
	for i := range configs {
		if name := configs[i].Name; !inIggy || name != topicconfig.RetentionMs && name != topicconfig.RetentionBytes {
			settings[name] = *configs[i].Value
		}
	}
	return settings
}

// deletes tells whether the cleanup policy of validated settings has delete in it.
func deletes(configs []kmsg.CreateTopicsRequestTopicConfig) bool {
	set := topicconfig.Default()
	for i := range configs {
		if c := &configs[i]; c.Name == topicconfig.CleanupPolicy {
			set = topicconfig.NewEffective(map[string]string{c.Name: *c.Value})
		}
	}
	return set.Delete
}

// takeBackTime bounds the removal of a topic that could not be made whole also when its request has used its own time up.
const takeBackTime = 5 * time.Second

// makeTopic creates a topic and stores its settings. A topic that would be without them is taken back, so that whoever
// asked may try again; where they cannot be stored in any case, none is made.
func (a *API) makeTopic(ctx context.Context, spec bridge.TopicSpec, settings map[string]string) (bridge.TopicID, *refusal) {
	if len(settings) > 0 && !a.ownsState() {
		return bridge.TopicID{}, refuse(notController, textNotController)
	}
	if len(settings) > 0 {
		defer a.settings.hold(spec.Name)()
	}
	t, err := a.Bridge.CreateTopic(ctx, a.Bridge.Self(), spec)
	if err != nil {
		no := a.refusalOf(opCreateTopics, err)
		if no.code == topicAlreadyExists {
			no.text = fmt.Sprintf("Topic '%s' already exists.", spec.Name)
		}
		return bridge.TopicID{}, no
	}
	if len(settings) == 0 {
		return t.ID, nil
	}
	err = a.Topics.SetTopicSettings(ctx, t.ID.String(), t.Name, settings)
	if err == nil {
		return t.ID, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	if err := a.Bridge.DeleteTopic(ctx, a.Bridge.Self(), t); err != nil {
		a.logFailure("topic without its settings not taken back", err)
	}
	if errors.Is(err, coordinator.ErrNotCoordinator) || errors.Is(err, coordinator.ErrLoadInProgress) {
		return bridge.TopicID{}, refuse(notController, textNotController)
	}
	return bridge.TopicID{}, refuse(requestTimedOut, textTimedOut)
}

// scaled multiplies a validated number; negative ones and those too large mean unlimited.
func scaled(value string, factor, unlimited uint64) uint64 {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil || n < 0 || uint64(n) > math.MaxUint64/factor {
		return unlimited
	}
	return max(uint64(n)*factor, 1)
}

// The sources of a setting's value, as DescribeConfigs numbers them.
const (
	sourceTopic   = 1
	sourceDefault = 5
)

// createdConfigs lists every setting of a new topic, with what was set.
func (a *API) createdConfigs(set []kmsg.CreateTopicsRequestTopicConfig) []kmsg.CreateTopicsResponseTopicConfig {
	values := map[string]*string{}
	for i := range set {
		values[set[i].Name] = set[i].Value
	}
	out := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(a.configs.All()))
	for _, key := range a.configs.All() {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = key.Name, kmsg.StringPtr(key.Default), sourceDefault
		if v, ok := values[key.Name]; ok {
			c.Value, c.Source = v, sourceTopic
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
