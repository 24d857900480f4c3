// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// A batch that is answered with an error upon which its producer sends it again never gets to lie behind those that its
// producer had sent after it, also when it was refused before anybody looked into it, and nothing is known of its producer
// yet: they are out of order until it comes.
func TestNothingOvertakesARefusedBatch(t *testing.T) {
	t.Run("the request brings too much", func(t *testing.T) {
		gw := smallGateway(t)
		c := gw.dial(t)
		topic := gw.newTopic(t, 10)
		full := batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: 1, value: make([]byte, smallCap-100)})
		var parts []part
		for i := range int32(9) {
			parts = append(parts, part{topic: topic, partition: i, records: full})
		}
		parts = append(parts, part{topic: topic, partition: 9, records: sequenced(producer{id: 5}, 2)})
		expectOvertaking(c, topic, 9, produceRequest(parts...), codeNotLeader)
	})
	t.Run("the settings are not known", func(t *testing.T) {
		late := &lateStore{loaded: make(chan struct{})}
		gw := start(t, setup{deps: func(deps *api.Deps) {
			late.TopicStore = deps.Topics
			deps.Topics = late
		}})
		c := gw.dial(t)
		topic := gw.newTopic(t, 1)
		req := produceRequest(part{topic: topic, records: sequenced(producer{id: 5}, 2)})
		req.TimeoutMillis = 100
		c.send(req)
		if got := producedTo(next[*kmsg.ProduceResponse](c)); got[0] != fmt.Sprintf("%s/0: %d at -1", topic, codeNotLeader) {
			t.Fatal(got)
		}
		close(late.loaded)
		expectOrder(c, topic, 0)
	})
	t.Run("no room to decode it", func(t *testing.T) {
		const size, piece = 8 << 20, 32 << 10
		gw := start(t, setup{budget: size})
		c := gw.dial(t)
		topic := gw.newTopic(t, 1)
		decode := gw.budgets["decode"]
		const pieces = (size - 64<<10) / piece
		for range pieces {
			if err := decode.Acquire(context.Background(), piece); err != nil {
				t.Fatal(err)
			}
		}
		b := batchOf(batchForm{producer: &producer{id: 5}}, record{value: make([]byte, 100<<10)}, record{value: make([]byte, 100<<10)})
		req := produceRequest(part{topic: topic, records: b})
		req.TimeoutMillis = 200
		if got := producedTo(ask[*kmsg.ProduceResponse](c, req)); got[0] != fmt.Sprintf("%s/0: %d at -1", topic, codeTimedOut) {
			t.Fatal(got)
		}
		for range pieces {
			decode.Release(piece)
		}
		expectOrder(c, topic, 0)
	})
}

func expectOvertaking(c *client, topic string, partition int32, refused *kmsg.ProduceRequest, code int16) {
	c.Helper()
	got := producedTo(ask[*kmsg.ProduceResponse](c, refused))
	if last := got[len(got)-1]; last != fmt.Sprintf("%s/%d: %d at -1", topic, partition, code) {
		c.Fatal(got)
	}
	expectOrder(c, topic, partition)
}

// expectOrder sends what came behind the batch of producer 5 that was refused, then that batch again, and the rest.
func expectOrder(c *client, topic string, partition int32) {
	c.Helper()
	for _, tc := range []struct {
		sequence int32
		want     string
	}{{2, "45 at -1"}, {0, "0 at 0"}, {2, "0 at 2"}} {
		req := produceRequest(part{topic: topic, partition: partition, records: sequenced(producer{id: 5, sequence: tc.sequence}, 2)})
		if got := producedTo(ask[*kmsg.ProduceResponse](c, req)); got[0] != fmt.Sprintf("%s/%d: %s", topic, partition, tc.want) {
			c.Errorf("sequence %d: %s, want %s", tc.sequence, got[0], tc.want)
		}
	}
}
