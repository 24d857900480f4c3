// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestUncertainWrites (PB-39) loses the gateway's connection to Iggy before a batch is there, and after, when the gateway
// does not know of it. It has no counterpart in a broker, whose log is its own.
func TestUncertainWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	bin, err := builder(t)()
	if err != nil {
		t.Fatal(err)
	}
	target := &harness.Target{Name: "uncertain"}
	closeAtEnd(t, target)
	dir := t.TempDir()
	if err := target.StartIggy(t.Context(), bin, dir); err != nil {
		t.Fatal(err)
	}
	var next atomic.Int32 // the fate of the next batch
	lossy, err := clients.StartIggyProxy(target.Iggy.Addr, func(code int16, _ int) clients.Fate {
		if code != clients.IggySendMessages {
			return clients.Pass
		}
		return clients.Fate(next.Swap(int32(clients.Pass)))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lossy.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := target.StartGateway(t.Context(), bin, dir, "IGGY_KAFKA_IGGY_ADDR="+lossy.Addr()); err != nil {
		t.Fatal(err)
	}

	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 1)
	id := producerID(t, conn)
	var want []clients.Record
	write := func(batch []byte) (code int16, offset int64) {
		t.Helper()
		p := askRaw[*kmsg.ProduceResponse](t, conn, produceRequest(9, topic, 0, batch)).Topics[0].Partitions[0]
		return p.ErrorCode, p.BaseOffset
	}
	for sequence := int32(0); sequence < 12; sequence += 2 {
		fate := clients.Fate(sequence / 2 % 3)
		lost := lossy.Lost()
		batch := sequenced(id, 0, sequence, 2)
		next.Store(int32(fate))
		code, offset := write(batch)
		if fate != clients.Pass && lossy.Lost() != lost+1 {
			t.Errorf("sequence %d: the batch was not lost: nothing is tested", sequence)
		}
		if fate == clients.LoseSent && code == kerr.NotLeaderForPartition.Code { // for sure not written
			code, offset = write(batch)
		}
		if again, at := write(batch); code != 0 || offset != int64(sequence) || again != 0 || at != offset {
			t.Errorf("sequence %d, fate %d: code %d at %d, and sent again: code %d at %d", sequence, fate, code, offset, again, at)
		}
		for i := range int64(2) {
			want = append(want, clients.Record{Timestamp: firstTimestamp + int64(sequence) + i, Value: fmt.Appendf(nil, "%d", int64(sequence)+i)})
		}
	}
	// What is not numbered is not sent twice either.
	for i, fate := range []clients.Fate{clients.LoseAnswer, clients.Pass} {
		record := clients.Record{Timestamp: firstTimestamp, Value: fmt.Appendf(nil, "plain %d", i)}
		next.Store(int32(fate))
		if code, offset := write(clients.AppendBatch(nil, clients.NewBatch(record))); code != 0 || offset != int64(len(want)) {
			t.Errorf("%s: code %d at %d, want 0 at %d", record.Value, code, offset, len(want))
		}
		want = append(want, record)
	}
	expectRead(t, clients.Franz{Addr: target.Kafka}, topic.name, 0, at(0, want))
}
