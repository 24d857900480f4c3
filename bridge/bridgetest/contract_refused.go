// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// tooLarge: what Iggy refuses for its size is named so, and the next batch is not disturbed.
func (s *suite) tooLarge(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	for i, m := range []mapping.Message{
		{ID: [16]byte{1}, Payload: make([]byte, iggywire.MaxPayload+1)},
		{ID: [16]byte{2}, Payload: []byte("x"), UserHeaders: make([]byte, iggywire.MaxUserHeaders+1)},
	} {
		a := &bridge.Append{Session: b.Self(), Count: 1, Deadline: time.Now().Add(patience), Messages: mapping.AppendMessage(nil, &m)}
		err := b.Append(top, 0, a)
		if err == nil {
			_, err = a.Wait(t.Context())
		}
		if !bridge.IsTooLarge(err) {
			t.Errorf("message %d: %v", i, err)
		}
		if got, err := write(t.Context(), b, top, 0, 1, text("behind")); err != nil || got.BaseOffset != int64(i) {
			t.Errorf("behind message %d: %+v %v", i, got, err)
		}
	}
}

// rights: what Iggy's users may not do is refused as Iggy refuses it.
func (s *suite) rights(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	if _, err := write(t.Context(), b, top, 0, 1, text("x")); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, &s.config)
	as := func(user who) (*bridge.Bridge, error) {
		cfg := s.config
		cfg.Username, cfg.Password = w.userName(user), userPassword
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return bridge.Open(ctx, cfg)
	}
	if _, err := as(nobody); !bridge.IsUnauthorized(err) {
		t.Errorf("opened without permissions: %v", err)
	}
	if _, err := as(idle); !bridge.IsLoginFailed(err) {
		t.Errorf("opened by an inactive user: %v", err)
	}
	reading, err := as(reader)
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close(t.Context())
	if m, err := reading.Read(t.Context(), reading.Self(), top, 0, 0, 1); err != nil || m.Count != 1 {
		t.Errorf("read: %d messages, %v", m.Count, err)
	} else {
		m.Release()
	}
	if bounds, err := reading.Bounds(t.Context(), top); err != nil || bounds[0].Next != 1 {
		t.Errorf("bounds: %+v, %v", bounds, err)
	}
	if _, err := write(t.Context(), reading, top, 0, 1, text("x")); !bridge.IsUnauthorized(err) {
		t.Errorf("append: %v", err)
	}
	spec := bridge.TopicSpec{Name: fmt.Sprintf("t-%08x", rand.Uint32()), Partitions: 1}
	if _, err := reading.CreateTopic(t.Context(), reading.Self(), spec); !bridge.IsUnauthorized(err) {
		t.Errorf("create: %v", err)
	}
	if err := reading.DeleteTopic(t.Context(), reading.Self(), top); !bridge.IsUnauthorized(err) {
		t.Errorf("delete: %v", err)
	}
}

// newestTimestamp: the largest of what was written through this bridge, and the first record that has it.
func (s *suite) newestTimestamp(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	if _, _, ok := b.NewestTimestamp(top, 0); ok {
		t.Error("there is one in a partition never written to")
	}
	for i, batch := range []struct{ timestamp, wantTimestamp, wantOffset int64 }{{50, 50, 1}, {40, 50, 1}, {50, 50, 1}, {60, 60, 10}} {
		a := &bridge.Append{
			Session: b.Self(), Count: 3, Deadline: time.Now().Add(patience), Messages: messages(3, text("batch %d", i)),
			MaxTimestamp: batch.timestamp, MaxTimestampIndex: 1,
		}
		if err := b.Append(top, 0, a); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if timestamp, offset, ok := b.NewestTimestamp(top, 0); !ok || timestamp != batch.wantTimestamp || offset != batch.wantOffset {
			t.Errorf("batch %d: %d at %d, %v", i, timestamp, offset, ok)
		}
	}
}

// gone: a watch is woken when somebody else deletes its topic, and appends to it are refused from then on.
func (s *suite) gone(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	watch := b.Watch([]*bridge.Topic{top})
	defer watch.Close()
	other := s.open(t)
	if err := other.DeleteTopic(t.Context(), other.Self(), top); err != nil {
		t.Fatal(err)
	}
	for !watch.Gone(top) {
		select {
		case <-watch.News():
		case <-time.After(patience):
			t.Fatal("no news of the deletion")
		}
	}
	if _, err := write(t.Context(), b, top, 0, 1, text("x")); !bridge.IsNotFound(err) {
		t.Errorf("append: %v", err)
	}
	if view, err := b.Topics(t.Context()); err != nil {
		t.Error(err)
	} else if _, found := view.ByID(top.ID); found {
		t.Error("the topic is still seen")
	}
}
