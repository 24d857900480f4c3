// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// TestBridgeBesideSDK lets clients of the official SDK and the bridge write to one partition at a time: batches stay in
// one piece, the bridge's are where it says, nothing is lost, and the SDK reads what the bridge reads.
func TestBridgeBesideSDK(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			b, err := bridge.Open(t.Context(), bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
			must(t, err)
			defer b.Close(t.Context())
			top, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1})
			must(t, err)
			besideSDK(t, s, b, top)
		})
	}
}

func besideSDK(t *testing.T, s *Server, b *bridge.Bridge, top *bridge.Topic) {
	const writers, batches = 3, 40
	var written bridgetest.Written
	var wg sync.WaitGroup
	clients := make([]iggcon.Client, writers)
	for i := range clients {
		c, err := client.NewIggyClient(client.WithTcp(tcp.WithServerAddress(s.Addr().String())))
		must(t, err)
		defer c.Close()
		_, err = c.LoginUser("iggy", "iggy")
		must(t, err)
		clients[i] = c
	}
	stream, topic := named(t, top.Iggy.Stream), named(t, top.Iggy.Topic)
	for i, c := range clients {
		wg.Go(func() {
			for j := range batches {
				label, n := fmt.Sprintf("sdk %d batch %d", i, j), 1+(i+j)%7
				batch := make([]iggcon.IggyMessage, n)
				for k := range batch {
					var err error
					if batch[k], err = iggcon.NewIggyMessage(fmt.Appendf(nil, "%s %d", label, k)); err != nil {
						t.Error(err)
						return
					}
				}
				if err := c.SendMessages(stream, topic, iggcon.PartitionId(0), batch); err != nil {
					t.Errorf("%s: %v", label, err)
					return
				}
				written.Acknowledged(label, n, -1)
			}
		})
		wg.Go(func() {
			for j := range batches {
				label, n := fmt.Sprintf("bridge %d batch %d", i, j), 1+(i+j)%5
				ids := mapping.IDs{ProducerID: int64(i), BaseSequence: int32(5 * j)}
				a := &bridge.Append{Session: b.Self(), Count: n, Deadline: time.Now().Add(20 * time.Second)}
				for k := range n {
					a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(k), Payload: fmt.Appendf(nil, "%s %d", label, k)})
				}
				err := b.Append(top, 0, a)
				var got bridge.Appended
				if err == nil {
					got, err = a.Wait(t.Context())
				}
				if err != nil {
					t.Errorf("%s: %v", label, err)
					return
				}
				written.Acknowledged(label, n, got.BaseOffset)
			}
		})
	}
	wg.Wait()
	stored, err := bridgetest.Payloads(t.Context(), b, top, 0)
	must(t, err)
	if err := written.Check(stored); err != nil {
		t.Error(err)
	}
	var polled []string
	for partition := uint32(0); len(polled) < len(stored); {
		got, err := clients[0].PollMessages(stream, topic, iggcon.NewSingleConsumer(named(t, "reader")),
			iggcon.OffsetPollingStrategy(uint64(len(polled))), 100, false, &partition)
		must(t, err)
		if len(got.Messages) == 0 {
			break
		}
		for _, m := range got.Messages {
			polled = append(polled, string(m.Payload))
		}
	}
	if diff := cmp.Diff(stored, polled); diff != "" {
		t.Errorf("(-bridge +sdk):\n%s", diff)
	}
}
