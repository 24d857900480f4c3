// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// ElectLeaders (43), v0-2 (KIP-183): this gateway leads every partition, and is the only one that could.
//
// v1: the type of election, preferred or unclean (KIP-460), and a top-level error code. v2: flexible.

const (
	uncleanElection = 1

	electionNotNeeded     = int16(84)
	textElectionNotNeeded = "Leader election not needed for topic partition."
)

func (a *API) electLeaders(ctx context.Context, conn *server.Conn, req *kmsg.ElectLeadersRequest) (server.Reply, error) {
	asking, cancel := within(ctx, req.TimeoutMillis, metadataTimeout)
	defer cancel()
	election, no := a.newElection(asking, conn, req)
	release, err := a.reserveAnswer(ctx, election.size(req))
	if err != nil {
		return server.Reply{}, err
	}
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.Version = req.Version
	if no != nil {
		resp.ErrorCode = no.code
	}
	if req.Topics == nil { // of all, those are told that were elected or could not be: none
		for _, t := range election.all {
			out := kmsg.NewElectLeadersResponseTopic()
			out.Topic = t.Name
			resp.Topics = append(resp.Topics, out)
		}
		return server.NewReservedReply(resp, release), nil
	}
	for i := range req.Topics {
		in := &req.Topics[i]
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = in.Topic
		for _, partition := range in.Partitions {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition = partition
			refused := no
			if refused == nil {
				refused = election.refuse(in.Topic, partition)
			}
			p.ErrorCode, p.ErrorMessage = refused.code, &refused.text
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return server.NewReservedReply(resp, release), nil
}

// election is what is known of the topics to elect leaders for.
type election struct {
	see sight
	all []*bridge.Topic // if leaders are to be elected for all of them
}

// newElection looks the topics up, or says why nothing is elected.
func (a *API) newElection(ctx context.Context, conn *server.Conn, req *kmsg.ElectLeadersRequest) (e election, no *refusal) {
	access, err := a.access(ctx, conn)
	switch {
	case err != nil:
		return e, a.refusalOf(opAlterConfigs, err)
	case !access.MayManageServers():
		return e, refuse(clusterAuthFailed, textNoCluster)
	case req.Version >= 1 && (req.ElectionType < 0 || req.ElectionType > uncleanElection):
		return e, refuse(invalidRequest, "Unknown election type %d", req.ElectionType)
	}
	if e.see, err = a.topicsIfAny(ctx, conn); err != nil {
		return e, a.refusalOf(opAlterConfigs, err)
	}
	if req.Topics == nil {
		e.all = e.see.all(permissions.Describe)
	}
	return e, nil
}

// refuse says why there is no election: a partition has its leader, or is not there.
func (e election) refuse(topic string, partition int32) *refusal {
	t, code := e.see.find(topicRef{name: topic}, permissions.Describe)
	switch {
	case code == topicAuthorizationFailed:
		return refuse(topicAuthorizationFailed, textUnauthorized)
	case code != none:
		return refuse(unknownTopicOrPartition, "No such topic as %s", topic)
	case partition < 0 || partition >= t.Partitions:
		return refuse(unknownTopicOrPartition, "No such partition as %s-%d", topic, partition)
	}
	return refuse(electionNotNeeded, textElectionNotNeeded)
}

// size bounds the answer, in bytes.
func (e election) size(req *kmsg.ElectLeadersRequest) int {
	const topicBytes, partitionBytes = 16, 96
	size := 0
	for _, t := range e.all {
		size += topicBytes + len(t.Name)
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		size += topicBytes + len(t.Topic) + (partitionBytes+len(t.Topic))*len(t.Partitions)
	}
	return size
}
