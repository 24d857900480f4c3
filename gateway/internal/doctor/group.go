// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group joins a group, reads the probe as its member, commits its offset and looks for it.
func (r *records) group(ctx context.Context) finding {
	r.groupID = ownPrefix + strings.ToLower(rand.Text()[:12])
	member, err := r.newClient(kgo.ConsumerGroup(r.groupID), kgo.ConsumeTopics(r.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().At(r.first)))
	if err != nil {
		return r.trouble("starting a member of a group", err)
	}
	defer part(member.Close) // it leaves the group
	began := time.Now()
	got, err := next(ctx, member, func(got *kgo.Record) bool { return got.Partition == partition && got.Offset >= r.first })
	if err != nil {
		return r.trouble("reading as a member of a group", err)
	}
	joined := time.Since(began)
	commit := map[string]map[int32]kgo.EpochOffset{r.topic: {partition: {Epoch: -1, Offset: got.Offset + 1}}}
	var committing error
	member.CommitOffsetsSync(ctx, commit, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		committing = err
		if err == nil {
			committing = commitError(resp)
		}
	})
	if committing != nil {
		return r.trouble("committing an offset", committing)
	}
	kept, err := r.committed(ctx)
	switch {
	case err != nil:
		return r.trouble("asking for the committed offset", err)
	case kept != got.Offset+1:
		return failed(fmt.Sprintf("offset %d was committed, and %d is kept", got.Offset+1, kept), "That is a fault: report it.")
	}
	return ok("joined, read and committed, in %v; a new group waits for more members first", Millis(joined))
}

// committed is the group's offset in the probes' partition.
func (r *records) committed(ctx context.Context) (int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic, topic.Partitions = r.topic, []int32{partition}
	req.Group, req.Topics = r.groupID, append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, r.client)
	if err != nil {
		return 0, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, err
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			return p.Offset, kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return 0, errors.New("no answer for the partition")
}

func commitError(resp *kmsg.OffsetCommitResponse) error {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if err := kerr.ErrorForCode(resp.Topics[i].Partitions[j].ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteGroup removes the group; who may not, leaves it empty, and its offsets go with the topic.
func (r *records) deleteGroup(ctx context.Context) error {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{r.groupID}
	resp, err := req.RequestWith(ctx, r.client)
	if err == nil && len(resp.Groups) == 1 {
		err = kerr.ErrorForCode(resp.Groups[0].ErrorCode)
	}
	if errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.GroupAuthorizationFailed) && r.made {
		return nil
	}
	return err
}
