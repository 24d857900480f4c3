// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	iggyclient "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// sdkClient is the official SDK: one call after the other, as its client works, to the partitions in turn. What a send
// waits for is the server's matter, so acks mean nothing here.
type sdkClient struct {
	client iggcon.Client
	stream iggcon.Identifier
	sent   []int // messages of each partition, by the last produce
}

func newSDKClient(iggy harness.Iggy) (s *sdkClient, err error) {
	client, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(iggy.Addr)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = client.Close()
		}
	}()
	if _, err = client.LoginUser(iggy.Username, iggy.Password); err != nil {
		return nil, err
	}
	stream, err := iggcon.NewIdentifier(iggy.Stream)
	return &sdkClient{client: client, stream: stream}, err
}

func (s *sdkClient) close() { _ = s.client.Close() }

func (s *sdkClient) create(_ context.Context, topic string, partitions int) error {
	_, err := s.client.CreateTopic(s.stream, topic, uint32(partitions), iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil)
	return err
}

func (s *sdkClient) remove(_ context.Context, topic string) error {
	id, err := iggcon.NewIdentifier(topic)
	if err != nil {
		return err
	}
	return s.client.DeleteTopic(s.stream, id)
}

func (s *sdkClient) produce(_ context.Context, topic string, w workload) (outcome, error) {
	begin := time.Now()
	timed, err := s.send(topic, w)
	return outcome{time.Since(begin), percentile(timed, 50), percentile(timed, 99)}, err
}

func (s *sdkClient) single(_ context.Context, topic string, w workload) ([]time.Duration, error) {
	w.perCall = 1
	return s.send(topic, w)
}

// send returns how long each call took; the messages are made before it.
func (s *sdkClient) send(topic string, w workload) (timed []time.Duration, err error) {
	id, err := iggcon.NewIdentifier(topic)
	if err != nil {
		return nil, err
	}
	s.sent = make([]int, w.partitions)
	value := bytes.Repeat([]byte("x"), w.size)
	for left := w.records; left > 0; left -= min(left, w.perCall) {
		messages := make([]iggcon.IggyMessage, min(left, w.perCall))
		for i := range messages {
			if messages[i], err = iggcon.NewIggyMessage(value); err != nil {
				return nil, err
			}
		}
		partition := len(timed) % w.partitions
		begin := time.Now()
		if err := s.client.SendMessages(s.stream, id, iggcon.PartitionId(uint32(partition)), messages); err != nil {
			return nil, err
		}
		timed = append(timed, time.Since(begin))
		s.sent[partition] += len(messages)
	}
	return timed, nil
}

func (s *sdkClient) consume(_ context.Context, topic string, w workload) (outcome, error) {
	id, err := iggcon.NewIdentifier(topic)
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	for i, sent := range s.sent {
		partition := uint32(i)
		for next := 0; next < sent; {
			polled, err := s.client.PollMessages(s.stream, id, iggcon.DefaultConsumer(),
				iggcon.OffsetPollingStrategy(uint64(next)), uint32(w.perCall), false, &partition)
			if err != nil {
				return outcome{}, err
			}
			if len(polled.Messages) == 0 {
				return outcome{}, fmt.Errorf("bench: partition %d ends at %d of %d messages", partition, next, sent)
			}
			next += len(polled.Messages)
		}
	}
	return outcome{took: time.Since(begin)}, nil
}
