// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// CreatePartitions (37), v0-3 (KIP-195).
//
// v1: throttled later (KIP-219). v2: flexible. v3: as v2; a broker may answer that a quota is used up (KIP-599).

func (a *API) createPartitions(ctx context.Context, conn *server.Conn, req *kmsg.CreatePartitionsRequest) (kmsg.Response, error) {
	ctx, cancel := within(ctx, req.TimeoutMillis, a.ProduceTimeoutMax)
	defer cancel()
	if req.TimeoutMillis <= 0 { // and nothing is done
		return answerPartitions(req, func(*kmsg.CreatePartitionsRequestTopic) *refusal { return &refusal{code: requestTimedOut} }), nil
	}
	see, end, no := a.topicsToAlter(ctx, conn)
	defer end()
	g := growing{a: a, session: a.session(conn), see: see, validateOnly: req.ValidateOnly}
	return answerPartitions(req, func(t *kmsg.CreatePartitionsRequestTopic) *refusal {
		if no != nil {
			return no
		}
		return g.grow(ctx, t)
	}), nil
}

// answerPartitions answers for each topic; one that is named more than once, once.
func answerPartitions(req *kmsg.CreatePartitionsRequest, grow func(*kmsg.CreatePartitionsRequestTopic) *refusal) kmsg.Response {
	count := map[string]int{}
	for i := range req.Topics {
		count[req.Topics[i].Topic]++
	}
	resp := kmsg.NewPtrCreatePartitionsResponse()
	resp.Version = req.Version
	for i := range req.Topics {
		t := &req.Topics[i]
		var no *refusal
		switch n := count[t.Topic]; {
		case n == 0: // answered at its first place
			continue
		case n > 1:
			count[t.Topic] = 0
			no = refuse(invalidRequest, textDuplicateTopic)
		default:
			no = grow(t)
		}
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic = t.Topic
		if no != nil {
			out.ErrorCode, out.ErrorMessage = no.code, nullable(no.text)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// growing is one request under way.
type growing struct {
	a            *API
	session      *bridge.Session
	see          sight
	validateOnly bool
	added        int32 // partitions so far
}

func (g *growing) grow(ctx context.Context, asked *kmsg.CreatePartitionsRequestTopic) *refusal {
	t, code := g.see.find(topicRef{name: asked.Topic}, permissions.Manage)
	switch {
	case code != none:
		return &refusal{code: code} // and no text, as a broker
	case t.Internal:
		return refuse(invalidTopicException, "Topic '%s' is internal.", t.Name)
	}
	if no := g.a.checkGrowth(t, asked); no != nil {
		return no
	}
	if g.added += asked.Count - t.Partitions; g.added > maxPartitionsPerRequest {
		return refuse(policyViolation, "Excessively large number of partitions per request.")
	}
	own, err := g.a.ownSettings(t)
	switch {
	case err != nil:
		return storeRefusal(err)
	case g.validateOnly:
		return nil
	}
	err = g.a.Bridge.CreatePartitions(ctx, g.session, t, asked.Count, partitionSize(own))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bridge.ErrNotMore): // others were faster
		return refuse(invalidPartitions, "The topic %s has %d partition(s) or more by now.", t.Name, asked.Count)
	}
	return g.a.refusalOf(opCreatePartitions, err)
}

// checkGrowth checks the number of partitions and where they are to be, as Kafka's ReplicationControlManager does.
func (a *API) checkGrowth(t *bridge.Topic, asked *kmsg.CreatePartitionsRequestTopic) *refusal {
	switch {
	case asked.Count == t.Partitions:
		return refuse(invalidPartitions, "Topic already has %d partition(s).", t.Partitions)
	case asked.Count < t.Partitions:
		return refuse(invalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Name, t.Partitions, asked.Count)
	case asked.Count > maxPartitions:
		return tooManyPartitions(asked.Count)
	case asked.Assignment == nil:
		return nil
	}
	if more := int(asked.Count - t.Partitions); len(asked.Assignment) != more {
		return refuse(invalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(asked.Assignment))
	}
	for i := range asked.Assignment {
		if no := a.checkReplicas(asked.Assignment[i].Replicas); no != nil {
			return no
		}
	}
	return nil
}

// partitionSize is what each partition may take, which a topic's maximum size follows; nil where there is no limit.
func partitionSize(own map[string]string) *uint64 {
	size := topicconfig.RetentionOf(own).PartitionSize
	if size == iggywire.ServerDefault || size == iggywire.UnlimitedSize {
		return nil
	}
	return &size
}

func (a *API) createPartitionsDetached(_ context.Context, _ *server.Conn, req *kmsg.CreatePartitionsRequest) (kmsg.Response, error) {
	return answerPartitions(req, func(*kmsg.CreatePartitionsRequestTopic) *refusal { return refuse(notController, textNotController) }), nil
}
