// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	stressSessions = 4
	stressSteps    = 300
)

// TestStress lets several sessions create, change, fill and delete the same few
// topics. No request may fail for a reason that is not the other sessions' doing,
// and a durable server that is started again has exactly what it had.
func TestStress(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			cfg.SegmentSize, cfg.CleanerInterval, cfg.LoseUnflushed = 300, -1, !cfg.InMemory
			s := startServer(t, cfg)
			conn := dial(t, s)
			login(t, conn)
			do(t, conn, iggywire.CreateStream{Name: "s"})
			var running sync.WaitGroup
			for n := range stressSessions {
				c := dial(t, s)
				login(t, c)
				random := rand.New(rand.NewPCG(uint64(n), 7))
				running.Go(func() {
					for range stressSteps {
						if err := stressStep(s, c, random); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			if cfg.InMemory {
				return
			}
			before := everythingIn(t, conn)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			conn = dial(t, startServer(t, cfg))
			login(t, conn)
			if after := everythingIn(t, conn); !bytes.Equal(before, after) {
				t.Errorf("was\n%x\nis\n%x", before, after)
			}
		})
	}
}

// stressStep does something to one of three topics, or lets retention do its work.
func stressStep(s *Server, conn net.Conn, random *rand.Rand) error {
	stream, name := iggywire.NamedID("s"), fmt.Sprint("t", random.IntN(3))
	topic, group := iggywire.NamedID(name), iggywire.NamedID("g")
	partition := random.Uint32N(3)
	consumer := iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NumericID(partition)}
	if random.IntN(2) == 0 {
		consumer = iggywire.Consumer{Kind: iggywire.ConsumerGroup, ID: group}
	}
	var req iggywire.Request
	switch random.IntN(20) {
	case 0, 1:
		req = iggywire.CreateTopic{
			Stream: stream, Name: name, Partitions: 2, Compression: iggywire.CompressionNone,
			MessageExpiry: 1000, // µs
		}
	case 2:
		req = iggywire.DeleteTopic{Stream: stream, Topic: topic}
	case 3:
		req = iggywire.PurgeTopic{Stream: stream, Topic: topic}
	case 4:
		req = iggywire.CreatePartitions{Stream: stream, Topic: topic, Partitions: 1}
	case 5:
		req = iggywire.DeletePartitions{Stream: stream, Topic: topic, Partitions: 1}
	case 6:
		req = iggywire.CreateGroup{Stream: stream, Topic: topic, Name: "g"}
	case 7:
		req = iggywire.JoinGroup{Stream: stream, Topic: topic, Group: group}
	case 8:
		req = iggywire.LeaveGroup{Stream: stream, Topic: topic, Group: group}
	case 9:
		req = iggywire.DeleteGroup{Stream: stream, Topic: topic, Group: group}
	case 10:
		req = iggywire.StoreOffset{Consumer: consumer, Stream: stream, Topic: topic, HasPartition: true, Partition: partition}
	case 11:
		req = iggywire.DeleteOffset{Consumer: consumer, Stream: stream, Topic: topic, HasPartition: true, Partition: partition}
	case 12:
		return s.clean()
	case 13, 14:
		req = iggywire.Poll{
			Consumer: consumer, Stream: stream, Topic: topic, Partition: partition,
			Strategy: iggywire.PollStrategy(1 + random.UintN(5)), Count: 5, AutoCommit: true,
		}
	default:
		return stressSend(conn, stream, topic, partition)
	}
	return stressRequest(conn, req.Code(), req.AppendTo(nil))
}

func stressSend(conn net.Conn, stream, topic iggywire.Identifier, partition uint32) error {
	msg := message(0, "x")
	body := iggywire.AppendSendHeader(nil, stream, topic, iggywire.ToPartition(partition), 1)
	body, _, err := iggywire.AppendIndexes(body, msg, 0)
	if err != nil {
		return err
	}
	return stressRequest(conn, iggywire.CodeSendMessages, append(body, msg...))
}

func stressRequest(conn net.Conn, code iggywire.Code, body []byte) error {
	status, _, err := request(conn, code, body)
	if err != nil {
		return err
	}
	switch status {
	case iggywire.StatusOK, iggywire.StatusTopicExists, iggywire.StatusTopicNotFound, iggywire.StatusPartitionNotFound,
		iggywire.StatusInvalidPartitionsCount, iggywire.StatusGroupExists, iggywire.StatusGroupNotFound,
		iggywire.StatusGroupMemberNotFound, iggywire.StatusNotResolvedConsumer,
		iggywire.StatusConsumerOffsetNotFound, iggywire.StatusInvalidOffset:
		return nil
	}
	return fmt.Errorf("%v: %w", code, status)
}

// everythingIn is all that a client can read of stream s and what is in it.
func everythingIn(tb testing.TB, conn net.Conn) []byte {
	tb.Helper()
	stream := iggywire.NamedID("s")
	all := do(tb, conn, iggywire.GetStream{Stream: stream})
	for n := range 3 {
		topic := iggywire.NamedID(fmt.Sprint("t", n))
		details := do(tb, conn, iggywire.GetTopic{Stream: stream, Topic: topic})
		all = append(all, details...)
		groups, err := iggywire.ParseGroups(do(tb, conn, iggywire.GetGroups{Stream: stream, Topic: topic}))
		if err != nil {
			tb.Fatal(err)
		}
		for _, g := range groups {
			g.Members = 0 // connections do not last
			all = g.AppendTo(all)
		}
		parsed, found, err := iggywire.ParseTopicDetails(details)
		if err != nil || !found {
			continue
		}
		for _, p := range parsed.PartitionList {
			all = append(all, do(tb, conn, iggywire.Poll{
				Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle}, Stream: stream, Topic: topic,
				HasPartition: true, Partition: p.ID, Strategy: iggywire.PollFirst, Count: 10_000,
			})...)
			for _, c := range []iggywire.Consumer{
				{Kind: iggywire.ConsumerSingle, ID: iggywire.NumericID(p.ID)},
				{Kind: iggywire.ConsumerGroup, ID: iggywire.NamedID("g")},
			} {
				all = append(all, do(tb, conn, iggywire.GetOffset{
					Consumer: c, Stream: stream, Topic: topic, HasPartition: true, Partition: p.ID,
				})...)
			}
		}
	}
	return all
}
