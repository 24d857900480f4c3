// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testDeletedWhileWaiting deletes a topic that a Fetch waits on. It is answered at once, as by a broker, which completes
// the delayed fetches of partitions that it stops: otherwise a consumer learns of the deletion only after its wait.
func testDeletedWhileWaiting(t *testing.T, target *harness.Target) {
	const wait = 20 * time.Second
	by := clients.Franz{Addr: target.Kafka}
	topic := newTopic(t, by, 1)
	fetching := make(fetchHook, 1)
	client := franz(t, target.Kafka, kgo.WithHooks(fetching))
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
	id := ask[*kmsg.MetadataResponse](t, client, metadata).Topics[0].TopicID

	partition := kmsg.NewFetchRequestTopicPartition()
	partition.PartitionMaxBytes = 1 << 20
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = int32(wait.Milliseconds()), 1, 1<<20, -1
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: id, Partitions: []kmsg.FetchRequestTopicPartition{partition}}}
	ctx := within(t, limit)
	answered := make(chan error, 1)
	go func() { answered <- fetchOnce(ctx, client, req) }()
	fetching.await(t)
	if err := by.DeleteTopic(within(t, limit), topic); err != nil {
		t.Fatal(err)
	}
	deleted := time.Now()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if late := time.Since(deleted); late > wait/2 {
		t.Errorf("answered %v after the deletion", late)
	}
}

// fetchOnce succeeds if the partition is answered with an error.
func fetchOnce(ctx context.Context, client *kgo.Client, req *kmsg.FetchRequest) error {
	resp, err := req.RequestWith(ctx, client.SeedBrokers()[0])
	if err != nil {
		return err
	}
	if resp.Topics[0].Partitions[0].ErrorCode == 0 {
		return errors.New("no error for a topic that is gone")
	}
	return nil
}
