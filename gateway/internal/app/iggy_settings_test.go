// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// writingWorld is an Iggy whose clock stands still.
type writingWorld struct {
	t       *testing.T
	iggy    *embedded.Server
	seconds atomic.Int64 // of its clock
	payload []byte
}

func newWritingWorld(t *testing.T) *writingWorld {
	w := &writingWorld{t: t, payload: []byte("v")}
	w.seconds.Store(1_700_000_000)
	var err error
	w.iggy, err = embedded.Start(t.Context(), embedded.Config{InMemory: true, Now: func() time.Time { return time.Unix(w.seconds.Load(), 0) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.iggy.Close() })
	return w
}

// open connects as a gateway with these settings does.
func (w *writingWorld) open(settings ...string) (*bridge.Bridge, *bridge.Topic) {
	w.t.Helper()
	b, err := openBridge(w.t.Context(), load(w.t, settings...), w.iggy.Addr().String(), nil, func() {}, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { b.Close(context.Background()) })
	topic, err := b.CreateTopic(w.t.Context(), b.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1})
	if bridge.IsExists(err) {
		var view *bridge.TopicView
		if view, err = b.Topics(w.t.Context()); err == nil {
			topic, _ = view.ByName("orders")
		}
	}
	if err != nil || topic == nil {
		w.t.Fatal(topic, err)
	}
	return b, topic
}

// write appends one record of a producer.
func (w *writingWorld) write(b *bridge.Bridge, topic *bridge.Topic, producer int64, sequence int32) error {
	w.t.Helper()
	ids := mapping.IDs{ProducerID: producer, BaseSequence: sequence}
	a := &bridge.Append{
		Session: b.Self(), Count: 1, Deadline: time.Now().Add(30 * time.Second),
		Messages: mapping.AppendMessage(nil, &mapping.Message{ID: ids.ID(0), Payload: w.payload}),
		Producer: bridge.ProducerBatch{Idempotent: true, ID: producer, FirstSequence: sequence, LastSequence: sequence},
	}
	if err := b.Append(topic, 0, a); err != nil {
		w.t.Fatal(err)
	}
	_, err := a.Wait(w.t.Context())
	return err
}

func (w *writingWorld) mustWrite(b *bridge.Bridge, topic *bridge.Topic, producer int64, sequence int32) {
	w.t.Helper()
	if err := w.write(b, topic, producer, sequence); err != nil {
		w.t.Fatal(err)
	}
}

// known is how many producers a partition has.
func (w *writingWorld) known(b *bridge.Bridge, topic *bridge.Topic) int {
	w.t.Helper()
	states, err := b.Producers(w.t.Context(), topic, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(states)
}

// The topics that IGGY_KAFKA_EXCLUSIVE_TOPICS names are written to without a poll behind each send, and no others.
func TestExclusiveTopicsSetting(t *testing.T) {
	for setting, polls := range map[string]uint64{"": 1, "payments, orders-*": 1, "payments, orders": 0, "ord*": 0, "*": 0} {
		w := newWritingWorld(t)
		b, topic := w.open("IGGY_KAFKA_EXCLUSIVE_TOPICS=" + setting)
		w.mustWrite(b, topic, 7, 0) // which looks where the partition ends
		before := b.Stats().PollCalls
		w.mustWrite(b, topic, 7, 1)
		if got := b.Stats().PollCalls.Count - before.Count; got != polls {
			t.Errorf("%q: %d polls, want %d", setting, got, polls)
		}
	}
}

// IGGY_KAFKA_MAX_PRODUCERS bounds what is remembered, and what was forgotten is counted.
func TestMaxProducersSetting(t *testing.T) {
	w := newWritingWorld(t)
	b, topic := w.open("IGGY_KAFKA_MAX_PRODUCERS=2")
	for producer := range int64(5) {
		w.mustWrite(b, topic, producer, 0)
	}
	if s := b.Stats(); s.Producers != 2 || s.ProducerEvictions != 3 {
		t.Errorf("%d producers, %d evictions", s.Producers, s.ProducerEvictions)
	}
}

// IGGY_KAFKA_PRODUCER_ID_EXPIRATION_SECS is how long one that does not write is remembered.
func TestProducerExpirationSetting(t *testing.T) {
	w := newWritingWorld(t)
	b, topic := w.open("IGGY_KAFKA_PRODUCER_ID_EXPIRATION_SECS=1")
	w.mustWrite(b, topic, 7, 0)
	if err := w.write(b, topic, 7, 9); !errors.Is(err, bridge.ErrOutOfOrderSequence) {
		t.Fatal(err)
	}
	begun := time.Now()
	for sequence := int32(0); w.known(b, topic) == 2 || sequence == 0; sequence++ { // with 8, who goes on writing
		if w.mustWrite(b, topic, 8, sequence); time.Since(begun) > 30*time.Second {
			t.Fatal("it is remembered still")
		}
	}
	if took := time.Since(begun); took < 500*time.Millisecond {
		t.Errorf("forgotten after %v", took)
	}
	w.mustWrite(b, topic, 7, 9)
}

// How much of a partition's tail a gateway reads that was started anew, by the settings for that: of ten producers, who wrote
// one record a second each, those are known whose records are read.
func TestDedupTailSettings(t *testing.T) {
	w := newWritingWorld(t)
	w.payload = make([]byte, 300_000)
	b, topic := w.open()
	for producer := range int64(10) {
		w.mustWrite(b, topic, producer, 0)
		w.seconds.Add(1)
	}
	const least, most = "IGGY_KAFKA_DEDUP_TAIL_MIN_MESSAGES=", "IGGY_KAFKA_DEDUP_TAIL_MAX_MESSAGES="
	const age, bytes = "IGGY_KAFKA_DEDUP_TAIL_AGE_SECS=", "IGGY_KAFKA_DEDUP_TAIL_MAX_BYTES="
	for _, tc := range []struct {
		settings []string
		want     int
	}{
		{nil, 10},
		{[]string{least + "1"}, 10},
		{[]string{least + "1", age + "3"}, 4},
		{[]string{least + "6", age + "3"}, 6},
		{[]string{least + "1", most + "5"}, 5},
		{[]string{bytes + "1048576"}, 4}, // nor is more read than that of all
	} {
		b, topic := w.open(tc.settings...)
		if got := w.known(b, topic); got != tc.want {
			t.Errorf("%q: %d producers are known, want %d", tc.settings, got, tc.want)
		}
	}
}
