// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawClient writes the frames of single Produce requests and reads their answers on one goroutine, as Iggy's SDK does
// with its own: what it sees is the server's share of a latency.
type rawClient struct {
	kafkaAdmin
	addr string
}

func newRawClient(addr string) (*rawClient, error) {
	admin, err := newKafkaAdmin(addr)
	return &rawClient{admin, addr}, err
}

func (r *rawClient) single(ctx context.Context, topic string, w workload) ([]time.Duration, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	request := produceRequest(topic, bytes.Repeat([]byte("x"), w.size), w.acks)
	timed := make([]time.Duration, w.records)
	for i := range timed {
		begin := time.Now()
		body, err := exchange(conn, request)
		if err != nil {
			return nil, err
		}
		timed[i] = time.Since(begin)
		if err := checkProduced(body, request.Version); err != nil {
			return nil, err
		}
	}
	return timed, nil
}

func (r *rawClient) produce(context.Context, string, workload) (outcome, error) {
	return outcome{}, errCannot
}

func (r *rawClient) consume(context.Context, string, workload) (outcome, error) {
	return outcome{}, errCannot
}

// produceRequest writes one record to partition 0.
func produceRequest(topic string, value []byte, acks string) *kmsg.ProduceRequest {
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = recordBatch(value)
	destination := kmsg.NewProduceRequestTopic()
	destination.Topic, destination.Partitions = topic, []kmsg.ProduceRequestTopicPartition{partition}
	request := kmsg.NewPtrProduceRequest()
	request.Version, request.Acks, request.TimeoutMillis = 9, -1, 30_000
	if acks == "1" {
		request.Acks = 1
	}
	request.Topics = []kmsg.ProduceRequestTopic{destination}
	return request
}

// The bytes of a batch before those that its length counts, and before those that its checksum is of.
const (
	batchLengthEnd = 12
	batchCRCEnd    = 21
)

// recordBatch is a batch of format 2 with one record, which no idempotent producer has numbered.
func recordBatch(value []byte) []byte {
	record := kmsg.Record{Value: value}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // a length of 0 is one byte
	batch := kmsg.RecordBatch{Magic: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: record.AppendTo(nil)}
	now := time.Now().UnixMilli()
	batch.FirstTimestamp, batch.MaxTimestamp = now, now
	b := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(b[batchLengthEnd-4:], uint32(len(b)-batchLengthEnd))
	binary.BigEndian.PutUint32(b[batchCRCEnd-4:], crc32.Checksum(b[batchCRCEnd:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// checkProduced reads the body of an answer that has one partition.
func checkProduced(body []byte, version int16) error {
	answer := kmsg.NewPtrProduceResponse()
	answer.Version = version
	if err := answer.ReadFrom(body[1:]); err != nil { // behind the tags of the header
		return fmt.Errorf("bench: a Produce answer: %w", err)
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		return fmt.Errorf("bench: the record was refused: %+v", answer.Topics)
	}
	return nil
}
