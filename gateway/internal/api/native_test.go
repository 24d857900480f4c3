// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/rand"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// sendNative writes messages to partition 0 of a topic as a program does that knows nothing of Kafka.
func (gw *gateway) sendNative(tb testing.TB, topic string, payloads ...string) {
	tb.Helper()
	messages := make([]mapping.Message, len(payloads))
	for i, p := range payloads {
		messages[i].Payload = []byte(p)
	}
	gw.sendMessages(tb, topic, messages...)
}

// sendMessages writes messages, whatever they are, to partition 0 of a topic.
func (gw *gateway) sendMessages(tb testing.TB, topic string, messages ...mapping.Message) {
	tb.Helper()
	var all []byte
	for i := range messages {
		_, _ = rand.Read(messages[i].ID[:])
		all = mapping.AppendMessage(all, &messages[i])
	}
	body := iggywire.AppendSendHeader(nil, iggywire.NamedID("kafka"), iggywire.NamedID(topic), iggywire.ToPartition(0), len(messages))
	body, _, err := iggywire.AppendIndexes(body, all, 0)
	if err != nil {
		tb.Fatal(err)
	}
	gw.nativeCall(tb, iggywire.CodeSendMessages, append(body, all...))
}

// native runs a command as a program does that knows nothing of Kafka.
func (gw *gateway) native(tb testing.TB, req iggywire.Request) (answer []byte) {
	tb.Helper()
	return gw.nativeCall(tb, req.Code(), req.AppendTo(nil))
}

func (gw *gateway) nativeCall(tb testing.TB, code iggywire.Code, body []byte) (answer []byte) {
	tb.Helper()
	nc := gw.nativeDial(tb)
	defer nc.Close()
	return iggyCall(tb, nc, code, body)
}

// nativeDial returns a signed-in connection to Iggy.
func (gw *gateway) nativeDial(tb testing.TB) net.Conn {
	tb.Helper()
	nc, err := net.Dial("tcp", gw.iggy.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(patience))
	login := iggywire.LoginUser{Username: "iggy", Password: "iggy"}
	iggyCall(tb, nc, login.Code(), login.AppendTo(nil))
	return nc
}

// nativeMember joins a native group that exists; the function that it returns leaves it.
func (gw *gateway) nativeMember(tb testing.TB, topic, group string) (leave func()) {
	tb.Helper()
	nc := gw.nativeDial(tb)
	tb.Cleanup(func() { nc.Close() })
	join := iggywire.JoinGroup{Stream: iggywire.NamedID("kafka"), Topic: iggywire.NamedID(topic), Group: iggywire.NamedID(group)}
	iggyCall(tb, nc, join.Code(), join.AppendTo(nil))
	return func() {
		leave := iggywire.LeaveGroup(join)
		iggyCall(tb, nc, leave.Code(), leave.AppendTo(nil))
	}
}

func iggyCall(tb testing.TB, nc net.Conn, code iggywire.Code, body []byte) (answer []byte) {
	tb.Helper()
	if _, err := nc.Write(append(iggywire.AppendRequestHeader(nil, code, len(body)), body...)); err != nil {
		tb.Fatal(err)
	}
	var head [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(nc, head[:]); err != nil {
		tb.Fatal(err)
	}
	status, n, err := iggywire.ParseResponseHeader(head[:])
	if err != nil || status != iggywire.StatusOK {
		tb.Fatalf("iggy: status %v, %v", status, err)
	}
	answer = make([]byte, n)
	if _, err := io.ReadFull(nc, answer); err != nil {
		tb.Fatal(err)
	}
	return answer
}

// fetchAll reads a partition from its start to its end.
func (c *client) fetchAll(topic string, partition int32) []record {
	c.Helper()
	var all []record
	for offset := int64(0); ; {
		got := onlyPartition(c, ask[*kmsg.FetchResponse](c, fetchRequest(part{topic: topic, partition: partition, offset: offset})))
		if got.ErrorCode != 0 {
			c.Fatalf("fetch at %d: error %d", offset, got.ErrorCode)
		}
		for _, r := range records(c, got.RecordBatches) {
			if r.offset < offset {
				continue // a batch may begin before the offset asked for
			}
			if r.offset != offset {
				c.Fatalf("offset %d follows %d", r.offset, offset-1)
			}
			all = append(all, r)
			offset++
		}
		if offset == got.HighWatermark {
			return all
		}
	}
}
