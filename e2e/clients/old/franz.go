// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franz is franz-go, without an administrator's package, which is newer. Its value is the broker's address.
type franz struct{ addr string }

func (f franz) client(opts ...kgo.Opt) (*kgo.Client, error) {
	// By default it asks for a topic that it was told is unknown only after 10 s again.
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(f.addr), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
}

// ask sends one request.
func ask[R kmsg.Response](f franz, req kmsg.Request) (R, error) {
	var none R
	cl, err := f.client()
	if err != nil {
		return none, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	resp, err := cl.Request(ctx, req)
	if err != nil {
		return none, err
	}
	return resp.(R), nil
}

func (f franz) createTopic(topic string, partitions int) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(partitions), 1
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreateTopicsResponse](f, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (f franz) deleteTopic(topic string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{topic}
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.DeleteTopicsResponse](f, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (f franz) produce(topic string, partition int, codec string, idempotent bool, records []record) ([]int64, error) {
	opts := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[codec])}
	if !idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	cl, err := f.client(opts...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var batch []*kgo.Record
	for _, r := range records {
		b := &kgo.Record{Topic: topic, Partition: int32(partition), Key: r.Key, Value: r.Value} // the time is its own
		for _, h := range r.Headers {
			b.Headers = append(b.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
		batch = append(batch, b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := cl.ProduceSync(ctx, batch...).FirstErr(); err != nil {
		return nil, err
	}
	var offsets []int64
	for _, b := range batch {
		offsets = append(offsets, b.Offset)
	}
	return offsets, nil
}

func (f franz) consume(topic string, partition int, offset int64, n int) ([]record, error) {
	cl, err := f.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {int32(partition): kgo.NewOffset().At(offset)}}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	records, _, err := franzPoll(cl, n)
	return records, err
}

func (f franz) consumeGroup(topic, group string, n int) ([]record, error) {
	cl, err := f.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	records, polled, err := franzPoll(cl, n)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return records, cl.CommitRecords(ctx, polled...)
}

func franzPoll(cl *kgo.Client, n int) (records []record, polled []*kgo.Record, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for len(records) < n {
		fetches := cl.PollRecords(ctx, n-len(records))
		for _, e := range fetches.Errors() {
			return nil, nil, fmt.Errorf("after %d of %d records: %w", len(records), n, e.Err)
		}
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("%d of %d records came", len(records), n)
		}
		for _, r := range fetches.Records() {
			record := record{Partition: int(r.Partition), Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				record.Headers = append(record.Headers, header{h.Key, h.Value})
			}
			records, polled = append(records, record), append(polled, r)
		}
	}
	return records, polled, nil
}

// offsetAt would look for times that producers did not give.
func (franz) offsetAt(string, int, int64) (int64, error) { return 0, errLacking }

func (f franz) metadata(topics []kmsg.MetadataRequestTopic) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = topics
	return ask[*kmsg.MetadataResponse](f, req)
}

func (f franz) topics() ([]string, error) {
	resp, err := f.metadata(nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range resp.Topics {
		names = append(names, *t.Topic)
	}
	return names, nil
}

func (f franz) partitionsOf(topic string) (int, error) {
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	resp, err := f.metadata([]kmsg.MetadataRequestTopic{t})
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 {
		return 0, errors.New("not one topic is described")
	}
	return len(resp.Topics[0].Partitions), kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (franz) deleteRecords(string, int, int64) error { return errLacking }
