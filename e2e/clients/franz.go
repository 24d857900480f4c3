// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// Franz is twmb/franz-go, for the broker at an address.
type Franz struct {
	Addr     string
	Security Security
}

func (Franz) Name() string { return "franz-go" }

func (Franz) Features() Features { return Features{Idempotent: true, TellsOffset: true} }

func (f Franz) client(opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.SeedBrokers(f.Addr)}, opts...)
	if f.Security.tls != nil {
		opts = append(opts, kgo.DialTLSConfig(f.Security.tls))
	}
	if f.Security.User != "" {
		opts = append(opts, kgo.SASL(plain.Auth{User: f.Security.User, Pass: f.Security.Password}.AsMechanism()))
	}
	return kgo.NewClient(opts...)
}

func (f Franz) CreateTopic(ctx context.Context, topic string, partitions int) error {
	cl, err := f.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, int32(partitions), 1, nil, topic)
	return err
}

func (f Franz) DeleteTopic(ctx context.Context, topic string) error {
	cl, err := f.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).DeleteTopic(ctx, topic)
	return err
}

func (f Franz) Produce(ctx context.Context, to Destination, records []Record) ([]int64, error) {
	opts := []kgo.Opt{
		kgo.DefaultProduceTopic(to.Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(franzCodec(to.Codec)),
		kgo.RequiredAcks(map[Acks]kgo.Acks{AcksAll: kgo.AllISRAcks(), AcksLeader: kgo.LeaderAck(), AcksNone: kgo.NoAck()}[to.Acks]),
	}
	if to.Idempotent {
		// Tests have it send again: the defaults wait for seconds.
		opts = append(opts, kgo.MetadataMinAge(20*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	} else {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	if to.BatchSize > 0 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(int32(batchBytes(records, to.BatchSize))))
	}
	cl, err := f.client(opts...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	batch := make([]*kgo.Record, len(records))
	for i, r := range records {
		batch[i] = &kgo.Record{Partition: int32(to.Partition), Key: r.Key, Value: r.Value, Timestamp: toTime(r.Timestamp)}
		for _, h := range r.Headers {
			batch[i].Headers = append(batch[i].Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
	}
	if err := cl.ProduceSync(ctx, batch...).FirstErr(); err != nil || to.Acks == AcksNone {
		return nil, err
	}
	offsets := make([]int64, len(batch))
	for i, r := range batch {
		offsets[i] = r.Offset
	}
	return offsets, nil
}

func (f Franz) Consume(ctx context.Context, topic string, partition int, offset int64, n int) ([]Record, error) {
	cl, err := f.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {int32(partition): kgo.NewOffset().At(offset)},
	}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var records []Record
	for len(records) < n {
		fetches := cl.PollRecords(ctx, n-len(records))
		if err := fetches.Err(); err != nil {
			return records, fmt.Errorf("after %d of %d records: %w", len(records), n, err)
		}
		for _, r := range fetches.Records() {
			records = append(records, franzRecord(r))
		}
	}
	return records, nil
}

func franzRecord(r *kgo.Record) Record {
	record := Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		record.Headers = append(record.Headers, Header{h.Key, h.Value})
	}
	return record
}

func franzCodec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	default:
		return kgo.NoCompression()
	}
}

// batchBytes turns a number of records into franz-go's only bound, bytes. A batch has at least one record.
func batchBytes(records []Record, n int) int {
	largest := 0
	for _, r := range records {
		size := len(r.Key) + len(r.Value) + 32
		for _, h := range r.Headers {
			size += len(h.Name) + len(h.Value) + 8
		}
		largest = max(largest, size)
	}
	return max(n*largest, 1024)
}
