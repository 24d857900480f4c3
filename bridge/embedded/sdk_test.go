// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
)

// TestSDK drives the server with the official Go client.
func TestSDK(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			c, err := client.NewIggyClient(client.WithTcp(tcp.WithServerAddress(s.Addr().String())))
			if err != nil {
				t.Fatal(err)
			}
			driveSDK(t, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func driveSDK(t *testing.T, c iggcon.Client) {
	must(t, c.Ping())
	if _, err := c.GetStreams(); !errors.Is(err, ierror.ErrUnauthenticated) {
		t.Errorf("streams before login: %v", err)
	}
	if _, err := c.LoginUser("iggy", "wrong"); !errors.Is(err, ierror.ErrInvalidCredentials) {
		t.Errorf("login with a wrong password: %v", err)
	}
	_, err := c.LoginUser("iggy", "iggy")
	must(t, err)
	_, err = c.CreateStream("shop")
	must(t, err)
	stream, topic := named(t, "shop"), named(t, "orders")
	_, err = c.CreateTopic(stream, "orders", 2, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil)
	must(t, err)
	if _, err := c.CreateTopic(stream, "orders", 2, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil); !errors.Is(err, ierror.ErrTopicNameAlreadyExists) {
		t.Errorf("topic created twice: %v", err)
	}
	const count = 25
	var messages []iggcon.IggyMessage
	for i := range count {
		message, err := iggcon.NewIggyMessage(fmt.Appendf(nil, "order %d", i))
		must(t, err)
		messages = append(messages, message)
	}
	must(t, c.SendMessages(stream, topic, iggcon.PartitionId(1), messages[:10]))
	must(t, c.SendMessages(stream, topic, iggcon.PartitionId(1), messages[10:]))

	consumer := iggcon.NewSingleConsumer(named(t, "reader"))
	partition := uint32(1)
	seen := 0
	for {
		polled, err := c.PollMessages(stream, topic, consumer, iggcon.NextPollingStrategy(), 7, true, &partition)
		must(t, err)
		if len(polled.Messages) == 0 {
			break
		}
		for _, m := range polled.Messages {
			if want := fmt.Sprintf("order %d", seen); string(m.Payload) != want || m.Header.Offset != uint64(seen) {
				t.Fatalf("offset %d holds %q, want %q at %d", m.Header.Offset, m.Payload, want, seen)
			}
			seen++
		}
	}
	if seen != count {
		t.Errorf("polled %d messages of %d", seen, count)
	}
	offset, err := c.GetConsumerOffset(consumer, stream, topic, &partition)
	must(t, err)
	if offset.StoredOffset != count-1 || offset.CurrentOffset != count-1 {
		t.Errorf("stored offset %d, current %d", offset.StoredOffset, offset.CurrentOffset)
	}
	must(t, c.StoreConsumerOffset(consumer, stream, topic, 3, &partition))
	must(t, c.DeleteConsumerOffset(consumer, stream, topic, &partition))
	stats, err := c.GetStats()
	must(t, err)
	if stats.MessagesCount != count || stats.PartitionsCount != 2 {
		t.Errorf("stats count %d messages in %d partitions", stats.MessagesCount, stats.PartitionsCount)
	}
	must(t, c.DeleteTopic(stream, topic))
	must(t, c.LogoutUser())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func named(t *testing.T, name string) iggcon.Identifier {
	t.Helper()
	id, err := iggcon.NewIdentifier(name)
	must(t, err)
	return id
}
