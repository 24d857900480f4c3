// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

const stateTopic = "__state"

// RunStateStorage runs the suite of the state log's storage on the server that server names. It makes streams of its own
// and deletes its topics.
func RunStateStorage(t *testing.T, server bridge.Config) {
	for _, tc := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"the topic is made once", (*suite).stateTopic},
		{"a topic that would lose the state is refused", (*suite).stateRefused},
		{"what is written is read", (*suite).stateMessages},
		{"others' messages", (*suite).stateForeign},
		{"the log survives its gateway", (*suite).stateSurvives},
		{"the newer gateway takes over", (*suite).stateTakenOver},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &suite{server}
			s.config.Names = bridge.NewNames(fmt.Sprintf("statetest-%08x", rand.Uint32()))
			s.config.InternalTopics = []string{stateTopic}
			tc.run(s, t)
		})
	}
}

// state opens the state log's storage through a bridge of its own. The topic is deleted at the end of the test.
func (s *suite) state(t *testing.T) (*bridge.Bridge, *bridge.StateStorage) {
	t.Helper()
	b := s.open(t)
	storage, err := b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: stateTopic, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		view, err := b.TopicsWithin(ctx, 0)
		if err != nil {
			t.Error(err)
			return
		}
		if top, ok := view.ByName(stateTopic); ok {
			if err := b.DeleteTopic(ctx, b.Self(), top); err != nil && !bridge.IsNotFound(err) {
				t.Error(err)
			}
		}
	})
	return b, storage
}

func (s *suite) stateTopic(t *testing.T) {
	b, storage := s.state(t)
	if got := storage.Partitions(); got != 2 {
		t.Errorf("%d partitions", got)
	}
	view, err := b.TopicsWithin(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	top, ok := view.ByName(stateTopic)
	if expiry := uint64((90 * 24 * time.Hour).Microseconds()); !ok || top.MessageExpiry != expiry || !top.Internal {
		t.Errorf("made as %+v", top)
	}
	again, err := b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: stateTopic, Partitions: 7})
	if err != nil || again.Partitions() != 2 {
		t.Errorf("opened again: %v, %v", again, err)
	}
	if _, err := b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: topic(t, b, 1).Name}); err == nil {
		t.Error("a topic that clients may write to was taken")
	}
}

func (s *suite) stateRefused(t *testing.T) {
	b := s.open(t)
	hours := func(n uint64) uint64 { return n * uint64(time.Hour.Microseconds()) }
	for _, tc := range []struct {
		name         string
		expiry, size uint64
		refusal      string // "" if it is taken
	}{
		{"expires too soon", hours(47), iggywire.UnlimitedSize, "expire after 47h0m0s, so Iggy would drop state that is still needed; at least 48h0m0s"},
		{"bounded", iggywire.NeverExpire, 2 << 30, "bounded to 2147483648 bytes"},
		{"just long enough", hours(48), iggywire.UnlimitedSize, ""},
		{"for ever", iggywire.NeverExpire, iggywire.UnlimitedSize, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			top, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{
				Name: stateTopic, Partitions: 1, MessageExpiry: tc.expiry, MaxSize: tc.size,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: stateTopic})
			switch {
			case tc.refusal == "" && err != nil:
				t.Error(err)
			case tc.refusal != "" && (err == nil || !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(err.Error(), stateTopic)):
				t.Errorf("%v does not say %q", err, tc.refusal)
			}
			if err := b.DeleteTopic(t.Context(), b.Self(), top); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: stateTopic, Expiry: time.Hour}); err == nil {
		t.Error("a topic was made whose messages expire after an hour")
	}
}

func (s *suite) stateMessages(t *testing.T) {
	_, storage := s.state(t)
	first, next, err := storage.Bounds(t.Context(), 1)
	if err != nil || first != 0 || next != 0 {
		t.Errorf("empty: %d, %d, %v", first, next, err)
	}
	var want []statelog.Message
	for i := range 40 {
		m := statelog.Message{
			Offset: int64(i), Checkpoint: int64(i)*1_000_000_007 - 1, Sequence: uint64(i) << 40,
			Payload: bytes.Repeat([]byte{byte(i)}, 1+i*i*20),
		}
		want = append(want, m)
	}
	for i := 0; i < len(want); i += 10 {
		base, err := storage.Append(t.Context(), 1, want[i:i+10])
		if err != nil || base != int64(i) {
			t.Fatalf("append %d: base %d, %v", i, base, err)
		}
	}
	var got []statelog.Message
	for {
		messages, err := storage.Read(t.Context(), 1, int64(len(got)), 7)
		if err != nil || len(messages) > 7 {
			t.Fatal(len(messages), err)
		}
		if len(messages) == 0 {
			break
		}
		got = append(got, messages...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if first, next, err = storage.Bounds(t.Context(), 1); err != nil || first != 0 || next != 40 {
		t.Errorf("bounds %d, %d, %v", first, next, err)
	}
	if messages, err := storage.Read(t.Context(), 0, 0, 10); err != nil || len(messages) > 0 {
		t.Errorf("the other partition has %d messages, %v", len(messages), err)
	}
}

// What somebody else wrote has no checkpoint, and is for the log to judge.
func (s *suite) stateForeign(t *testing.T) {
	b, storage := s.state(t)
	view, err := b.TopicsWithin(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	top, _ := view.ByName(stateTopic)
	if _, err := write(t.Context(), b, top, 0, 1, text("hello")); err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read(t.Context(), 0, 0, 10)
	if diff := cmp.Diff([]statelog.Message{{Checkpoint: -1, Payload: []byte("hello 0")}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	log, err := statelog.New(statelog.Config{Storage: storage, BootID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Run(t.Context()); !errors.Is(err, statelog.ErrUnknownRecord) {
		t.Errorf("loaded with %v", err)
	}
}

// stateLog runs a log on a bridge of its own.
func (s *suite) stateLog(t *testing.T, boot string) (log *statelog.Log, stop func() error) {
	t.Helper()
	_, storage := s.state(t)
	log, err := statelog.New(statelog.Config{Storage: storage, BootID: boot, TailInterval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- log.Run(ctx) }()
	stop = func() error { cancel(); return <-ran }
	select {
	case <-log.Loaded():
	case <-time.After(10 * time.Second):
		t.Fatalf("not loaded: %v", stop())
	}
	return log, stop
}

func (s *suite) stateSurvives(t *testing.T) {
	for round := range 3 {
		log, stop := s.stateLog(t, fmt.Sprint("boot ", round))
		settings, ok := log.TopicSettings("topic")
		if want := fmt.Sprint(round - 1); ok != (round > 0) || ok && settings["round"] != want {
			t.Errorf("round %d found %v", round, settings)
		}
		first, err := log.ReserveProducerIDs(t.Context(), 1, 0, 5)
		if err != nil || first != int64(round)*5 {
			t.Errorf("round %d reserved from %d, %v", round, first, err)
		}
		if err := log.SetTopicSettings(t.Context(), "topic", "name", map[string]string{"round": fmt.Sprint(round)}); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *suite) stateTakenOver(t *testing.T) {
	older, stopOlder := s.stateLog(t, "older")
	if err := older.SetQuota(t.Context(), "q", map[string]string{"by": "older"}); err != nil {
		t.Fatal(err)
	}
	newer, stopNewer := s.stateLog(t, "newer")
	if err := older.SetQuota(t.Context(), "q", map[string]string{"by": "the older, too late"}); !errors.Is(err, statelog.ErrFenced) {
		t.Errorf("the older one wrote: %v", err)
	}
	select {
	case <-older.Fenced():
	case <-time.After(10 * time.Second):
		t.Error("the older one was not fenced")
	}
	if err := stopOlder(); !errors.Is(err, statelog.ErrFenced) {
		t.Errorf("the older one: %v", err)
	}
	if got := newer.Quotas()["q"]["by"]; got != "older" {
		t.Errorf("the newer one has %q", got)
	}
	if err := stopNewer(); err != nil {
		t.Error(err)
	}
	last, stopLast := s.stateLog(t, "last")
	if got := last.Quotas()["q"]["by"]; got != "older" {
		t.Errorf("what came too late counts: %q", got)
	}
	if err := stopLast(); err != nil {
		t.Error(err)
	}
}
