// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
)

// What a producer is told when the way to Iggy fails around its write: 0 with the right offset when that can be found out
// in time, 6 when surely nothing was written, 7 when nobody can know; and that sending the batch again is safe in each
// case.

// What can be found out must be, however slow the machine is; what cannot be known is waited for until the producer's time is
// over, but not for so long that the gateway gives the connection up.
const (
	ample = 20_000
	brief = 3000
)

// severed cuts the gateway off from Iggy, and waits until it has noticed the loss of a connection: what it sends before may
// go out on a connection that is broken already, and nobody can know then that it did not arrive (7). Afterwards a lane asks where
// its partition ends before it sends anything.
func severed(t *testing.T, gw *gateway, proxy *bridgetest.Proxy) {
	t.Helper()
	proxy.Refuse(true)
	until(t, "the gateway notices", func() bool { return gw.logs.contains("connection to iggy lost") })
}

// outcome writes one batch within timeoutMillis and returns what was answered, as error at offset (log append time).
func outcome(c *client, topic string, b []byte, timeoutMillis int32) string {
	c.Helper()
	req := produceRequest(part{topic: topic, records: b})
	req.TimeoutMillis = timeoutMillis
	got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	return fmt.Sprintf("%d at %d (%d)", got.ErrorCode, got.BaseOffset, got.LogAppendTime)
}

// settled sends a batch until it is taken.
func settled(c *client, topic string, b []byte) string {
	c.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		got := outcome(c, topic, b, 20_000)
		var code, offset, stamp int
		if _, err := fmt.Sscanf(got, "%d at %d (%d)", &code, &offset, &stamp); err != nil {
			c.Fatal(err)
		}
		switch code {
		case codeNotLeader, codeTimedOut:
		default:
			return got
		}
	}
	c.Fatal("is not taken")
	return ""
}

func TestProduceOutcomes(t *testing.T) {
	first := sequenced(producer{id: 5}, 2)
	for _, tc := range []struct {
		name   string
		script string
		away   bool // no connection at all
		millis int32
		during string
		after  string
	}{
		{
			name: "iggy takes the batch and its answer is lost", script: "message.send 1 answer cut 3",
			millis: ample, during: "0 at 1 (-1)", after: "0 at 1 (1000)",
		},
		{
			name: "the batch is lost on its way", script: "message.send 1 request cut 40",
			millis: ample, during: "0 at 1 (-1)", after: "0 at 1 (1000)",
		},
		{
			name: "iggy hangs with the batch", script: "message.send * request stall",
			millis: brief, during: "7 at -1 (-1)", after: "0 at 1 (-1)",
		},
		{
			name: "iggy takes the batch and then hangs", script: "message.send * answer stall\nmessage.poll * answer stall\ntopic.get * answer stall",
			millis: brief, during: "7 at -1 (-1)", after: "0 at 1 (1000)",
		},
		{
			name: "iggy is away", away: true,
			millis: ample, during: "6 at -1 (-1)", after: "0 at 1 (-1)",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gw, proxy, _ := behindProxy(t)
			c := gw.dial(t)
			topic := gw.newTopic(t, 1)
			c.produce(topic, 0, batch("before"))
			script(t, proxy, tc.script)
			if tc.away {
				severed(t, gw, proxy)
			}
			if got := outcome(c, topic, first, tc.millis); got != tc.during {
				t.Errorf("during: got %s, want %s", got, tc.during)
			}
			script(t, proxy, "")
			proxy.Refuse(false)
			if got := settled(c, topic, first); got != tc.after {
				t.Errorf("sent again: got %s, want %s", got, tc.after)
			}
			if got := settled(c, topic, sequenced(producer{id: 5, sequence: 2}, 1)); got != "0 at 3 (-1)" {
				t.Errorf("what follows: got %s", got)
			}
			if got := c.fetchAll(topic, 0); len(got) != 4 {
				t.Errorf("%d records", len(got))
			}
		})
	}
}

// A batch whose answer was lost with its gateway is known to the next one, from the message ids in the partition.
func TestProduceAgainAfterRestart(t *testing.T) {
	iggy := startIggy(t)
	var topic string
	func() {
		gw, err := openGateway(setup{iggyAddr: iggy.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := gw.close(); err != nil {
				t.Error(err)
			}
		}()
		topic = gw.newTopic(t, 1)
		for i := range int32(7) {
			gw.dial(t).produce(topic, 0, sequenced(producer{id: 5, sequence: 2 * i}, 2))
		}
	}()
	gw := start(t, setup{iggyAddr: iggy.Addr().String()})
	c := gw.dial(t)
	for _, tc := range []struct {
		sequence int32
		records  int
		want     string
	}{
		{12, 2, "0 at 12 (1012)"},
		// While nothing new has come the whole tail counts. Where its batches ended is lost with the old gateway, and so the
		// time is the newest of all that the producer wrote in a row.
		{0, 2, "0 at 0 (1012)"},
		{15, 1, fmt.Sprintf("%d at -1 (-1)", codeOutOfOrder)},
		{14, 1, "0 at 14 (-1)"},
		{14, 1, "0 at 14 (1014)"},
	} {
		if got := outcome(c, topic, sequenced(producer{id: 5, sequence: tc.sequence}, tc.records), 20_000); got != tc.want {
			t.Errorf("sequence %d: got %s, want %s", tc.sequence, got, tc.want)
		}
	}
	got := ask[*kmsg.DescribeProducersResponse](c, describeProducers(part{topic: topic}, 0)).Topics[0].Partitions[0]
	if got.ErrorCode != 0 || len(got.ActiveProducers) != 1 || got.ActiveProducers[0].LastSequence != 14 {
		t.Errorf("producers: %+v", got)
	}
	if got := c.fetchAll(topic, 0); len(got) != 15 {
		t.Errorf("%d records", len(got))
	}
}

// A gateway that nobody has written through yet learns who wrote before when it is asked.
func TestDescribeProducersAfterRestart(t *testing.T) {
	iggy := startIggy(t)
	gw, err := openGateway(setup{iggyAddr: iggy.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	topic := gw.newTopic(t, 2)
	for i := range int32(3) {
		gw.dial(t).produce(topic, 0, sequenced(producer{id: 9, epoch: 2, sequence: 2 * i}, 2))
	}
	if err := gw.close(); err != nil {
		t.Fatal(err)
	}
	gw = start(t, setup{iggyAddr: iggy.Addr().String()})
	got := ask[*kmsg.DescribeProducersResponse](gw.dial(t), describeProducers(part{topic: topic}, 0, 1)).Topics[0].Partitions
	if len(got[1].ActiveProducers) != 0 || len(got[0].ActiveProducers) != 1 {
		t.Fatalf("%+v", got)
	}
	if p := got[0].ActiveProducers[0]; p.ProducerID != 9 || p.ProducerEpoch != 2 || p.LastSequence != 5 || p.LastTimestamp != 1004 {
		t.Errorf("%+v", p)
	}
}
