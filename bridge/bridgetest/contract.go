// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package bridgetest is one suite of tests for the bridge and for what it stands on, on any Iggy server: the embedded one
// everywhere, a real one where there is one. It has a proxy, too, that does to connections what a script says.
package bridgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// Run runs the suite on the server that server names: its address, the root user, and perhaps TLS. Others may use the
// server meanwhile: streams, topics, users and tokens are the suite's own, and are gone when it ends.
//
// One part goes through the bridge, the other speaks Iggy's protocol: what the bridge relies on, and what an embedded
// server owes to native clients.
func Run(t *testing.T, server bridge.Config) {
	t.Run("wire", func(t *testing.T) { wire(t, &server) })
	t.Run("bridge", func(t *testing.T) { throughBridge(t, server) })
}

func throughBridge(t *testing.T, server bridge.Config) {
	stream := fmt.Sprintf("bridgetest-%08x", rand.Uint32())
	server.Names = bridge.NewNames(stream)
	s := &suite{server}
	t.Cleanup(func() { s.removeStream(t, stream) })
	for _, tc := range []struct {
		name string
		run  func(*testing.T, *bridge.Bridge)
	}{
		{"topics", s.topics},
		{"append and read", s.appendAndRead},
		{"append to what is missing", s.appendToMissing},
		{"messages come back as they were sent", s.fidelity},
		{"concurrent writers", s.concurrentWriters},
		{"foreign writers", s.foreignWriters},
		{"native writers", s.nativeWriters},
		{"producers", s.producers},
		{"producers beside native writers", s.producersBesideNatives},
		{"stamp time", s.stampTime},
		{"too large", s.tooLarge},
		{"rights", s.rights},
		{"principals", s.principals},
		{"newest timestamp", s.newestTimestamp},
		{"news", s.news},
		{"news of a deletion", s.gone},
		{"reopen", s.reopen},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, s.open(t)) })
	}
	t.Run("bad password", func(t *testing.T) {
		bad := server
		bad.Password = "not the password"
		if _, err := bridge.Open(t.Context(), bad); !bridge.IsLoginFailed(err) {
			t.Errorf("%v", err)
		}
	})
}

type suite struct{ config bridge.Config }

func (s *suite) open(t *testing.T) *bridge.Bridge {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	b, err := bridge.Open(ctx, s.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		b.Close(ctx)
	})
	return b
}

func (s *suite) removeStream(t *testing.T, name string) {
	p, err := dial(context.Background(), &s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, req := range []iggywire.Request{
		iggywire.LoginUser{Username: s.config.Username, Password: s.config.Password},
		iggywire.DeleteStream{Stream: iggywire.NamedID(name)},
	} {
		if status, _, err := p.ask(req); err != nil || status != iggywire.StatusOK {
			t.Errorf("%v: %v, %v", req.Code(), status, err)
		}
	}
}

// topic makes a topic that is deleted at the end of the test.
func topic(t *testing.T, b *bridge.Bridge, partitions int32) *bridge.Topic {
	t.Helper()
	top, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: fmt.Sprintf("t-%08x", rand.Uint32()), Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.DeleteTopic(ctx, b.Self(), top); err != nil && !bridge.IsNotFound(err) {
			t.Error(err)
		}
	})
	return top
}

// messages lays out n messages with random ids and the given payloads.
func messages(n int, payload func(i int) []byte) []byte {
	ids := mapping.IDs{ProducerID: -1}
	for i := range ids.Random {
		ids.Random[i] = byte(rand.Uint32())
	}
	var out []byte
	for i := range n {
		out = mapping.AppendMessage(out, &mapping.Message{ID: ids.ID(i), OriginTimestamp: uint64(1_700_000_000_000_000 + i), Payload: payload(i)})
	}
	return out
}

func text(format string, args ...any) func(int) []byte {
	return func(i int) []byte { return fmt.Appendf(nil, format+" %d", append(args, i)...) }
}

func write(
	ctx context.Context, b *bridge.Bridge, top *bridge.Topic, p int32, n int, payload func(int) []byte,
) (bridge.Appended, error) {
	a := &bridge.Append{Session: b.Self(), Messages: messages(n, payload), Count: n, Deadline: time.Now().Add(20 * time.Second)}
	if err := b.Append(top, p, a); err != nil {
		return bridge.Appended{}, err
	}
	return a.Wait(ctx)
}

// payloads reads a whole partition.
func payloads(t *testing.T, b *bridge.Bridge, top *bridge.Topic, p int32) []string {
	t.Helper()
	all, err := Payloads(t.Context(), b, top, p)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Payloads reads the payloads of a whole partition, whose offsets have to begin at 0 and to have no gap.
func Payloads(ctx context.Context, b *bridge.Bridge, top *bridge.Topic, p int32) ([]string, error) {
	var out []string
	for {
		m, err := b.Read(ctx, b.Self(), top, p, int64(len(out)), 1000)
		if err != nil || m.Count == 0 {
			m.Release()
			return out, err
		}
		for rest := m.Messages; len(rest) > 0; {
			msg, n, err := mapping.ParseMessage(rest)
			if err == nil && msg.Offset != uint64(len(out)) {
				err = fmt.Errorf("bridgetest: offset %d where %d is due", msg.Offset, len(out))
			}
			if err != nil {
				m.Release()
				return nil, err
			}
			out, rest = append(out, string(msg.Payload)), rest[n:]
		}
		m.Release()
	}
}

func (s *suite) topics(t *testing.T, b *bridge.Bridge) {
	made := topic(t, b, 3)
	view, err := b.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := view.ByName(made.Name); !ok || got.ID != made.ID || got.Partitions != 3 {
		t.Errorf("by name: %+v %v", got, ok)
	}
	if got, ok := view.ByID(made.ID); !ok || got.Name != made.Name {
		t.Errorf("by id: %+v %v", got, ok)
	}
	if _, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: made.Name, Partitions: 1}); !bridge.IsExists(err) {
		t.Errorf("created twice: %v", err)
	}
	if _, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: "too-many", Partitions: 1001}); !bridge.IsTooManyPartitions(err) {
		t.Errorf("1,001 partitions: %v", err)
	}
	if err := b.DeleteTopic(t.Context(), b.Self(), made); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteTopic(t.Context(), b.Self(), made); !bridge.IsNotFound(err) {
		t.Errorf("deleted twice: %v", err)
	}
	again, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: made.Name, Partitions: 1})
	if err != nil || again.ID == made.ID {
		t.Errorf("made again: the same id, or %v", err)
	}
	if view, err = b.Topics(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := view.ByID(made.ID); ok {
		t.Error("the deleted topic's id still finds something")
	}
}

func (s *suite) appendAndRead(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 2)
	bounds, err := b.Bounds(t.Context(), top)
	if err != nil || len(bounds) != 2 || bounds[0].Next != 0 || bounds[0].Start != 0 {
		t.Fatalf("empty: %+v %v", bounds, err)
	}
	var want []string
	for i, n := range []int{1, 3, 1, 1000} {
		got, err := write(t.Context(), b, top, 1, n, text("batch %d", i))
		if err != nil || got.BaseOffset != int64(len(want)) {
			t.Fatalf("batch %d: %+v %v, want base %d", i, got, err, len(want))
		}
		for j := range n {
			want = append(want, fmt.Sprintf("batch %d %d", i, j))
		}
	}
	if diff := cmp.Diff(want, payloads(t, b, top, 1)); diff != "" {
		t.Error(diff)
	}
	bounds, err = b.Bounds(t.Context(), top)
	if err != nil || bounds[0].Next != 0 || bounds[1].Next != int64(len(want)) || bounds[1].Start != 0 {
		t.Errorf("%+v %v", bounds, err)
	}
	m, err := b.Read(t.Context(), b.Self(), top, 1, int64(len(want)), 10)
	if err != nil || m.Count != 0 || m.Current != int64(len(want)-1) {
		t.Errorf("at the end: %d messages, current %d, %v", m.Count, m.Current, err)
	}
	m.Release()
}

func (s *suite) appendToMissing(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	if _, err := write(t.Context(), b, top, 1, 1, text("x")); !errors.Is(err, bridge.ErrPartitionNotFound) {
		t.Errorf("partition 1 of 1: %v", err)
	}
	if err := b.DeleteTopic(t.Context(), b.Self(), top); err != nil {
		t.Fatal(err)
	}
	if _, err := write(t.Context(), b, top, 0, 1, text("x")); !bridge.IsNotFound(err) {
		t.Errorf("deleted topic: %v", err)
	}
	if _, err := b.Bounds(t.Context(), top); !bridge.IsNotFound(err) {
		t.Errorf("bounds of a deleted topic: %v", err)
	}
	if _, err := b.Read(t.Context(), b.Self(), top, 0, 0, 1); !bridge.IsNotFound(err) {
		t.Errorf("read of a deleted topic: %v", err)
	}
}

// fidelity: ids, origin timestamps, payloads and user headers are kept to the byte, up to large ones.
func (s *suite) fidelity(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	large := make([]byte, 3<<20)
	for i := range large {
		large[i] = byte(i * 7)
	}
	sent := []mapping.Message{
		{ID: [16]byte{1}, OriginTimestamp: 0, Payload: []byte("no origin timestamp")},
		{ID: [16]byte{2}, OriginTimestamp: 1<<64 - 1, Payload: []byte{0}},
		{ID: [16]byte{3}, OriginTimestamp: 5, Payload: []byte("garbage headers"), UserHeaders: []byte("garbage")},
		{ID: [16]byte{4}, OriginTimestamp: 4, Payload: large},
	}
	a := &bridge.Append{Session: b.Self(), Count: len(sent), Deadline: time.Now().Add(20 * time.Second)}
	for i := range sent {
		a.Messages = mapping.AppendMessage(a.Messages, &sent[i])
	}
	if err := b.Append(top, 0, a); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := b.Read(t.Context(), b.Self(), top, 0, 0, len(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	for i, rest := 0, m.Messages; i < len(sent); i++ {
		got, n, err := mapping.ParseMessage(rest)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		rest = rest[n:]
		want := sent[i]
		want.Offset, want.Timestamp, want.Checksum = uint64(i), got.Timestamp, got.Checksum
		if !bytes.Equal(want.Payload, got.Payload) {
			t.Errorf("message %d: the payload changed", i)
		}
		want.Payload, got.Payload = nil, nil
		if len(want.UserHeaders) == 0 {
			want.UserHeaders, got.UserHeaders = nil, got.UserHeaders[:len(got.UserHeaders):len(got.UserHeaders)]
			if len(got.UserHeaders) == 0 {
				got.UserHeaders = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("message %d: %s", i, diff)
		}
	}
}

// concurrentWriters: every batch is where its answer says, whole.
func (s *suite) concurrentWriters(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 4)
	checkPlaces(t, b, top, 16, 20, func(int) *bridge.Bridge { return b })
}

// foreignWriters: the same with writers that know nothing of each other.
func (s *suite) foreignWriters(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 2)
	others := []*bridge.Bridge{b, s.open(t), s.open(t)}
	checkPlaces(t, b, top, 9, 20, func(writer int) *bridge.Bridge { return others[writer%len(others)] })
}

func checkPlaces(
	t *testing.T, b *bridge.Bridge, top *bridge.Topic, writers, batches int, through func(writer int) *bridge.Bridge,
) {
	t.Helper()
	const perBatch = 3
	type place struct {
		partition int32
		base      int64
		label     string
	}
	var mu sync.Mutex
	var places []place
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range batches {
				p := int32((w + i) % int(top.Partitions))
				label := fmt.Sprintf("writer %d batch %d", w, i)
				got, err := write(t.Context(), through(w), top, p, perBatch, text("%s", label))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				places = append(places, place{p, got.BaseOffset, label})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	stored := make([][]string, top.Partitions)
	total := 0
	for p := range stored {
		stored[p] = payloads(t, b, top, int32(p))
		total += len(stored[p])
	}
	if total != writers*batches*perBatch {
		t.Errorf("%d messages stored, %d sent", total, writers*batches*perBatch)
	}
	for _, at := range places {
		for i := range perBatch {
			if want, got := fmt.Sprintf("%s %d", at.label, i), stored[at.partition][at.base+int64(i)]; got != want {
				t.Fatalf("partition %d offset %d holds %q, the answer said %q", at.partition, at.base+int64(i), got, want)
			}
		}
	}
}

// news: a watch is woken by one's own writes and by those of others.
func (s *suite) news(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	other := s.open(t)
	w := b.Watch([]*bridge.Topic{top})
	defer w.Close()
	for i, writer := range []*bridge.Bridge{b, other} {
		if _, err := write(t.Context(), writer, top, 0, 1, text("x")); err != nil {
			t.Fatal(err)
		}
		for {
			if known, ok := b.KnownBounds(top, 0); ok && known.Next == int64(i+1) {
				break
			}
			select {
			case <-w.News():
			case <-time.After(5 * time.Second):
				t.Fatalf("no news of write %d", i)
			}
		}
	}
}

// reopen: identities and contents are Iggy's, not the bridge's.
func (s *suite) reopen(t *testing.T, b *bridge.Bridge) {
	top := topic(t, b, 1)
	if _, err := write(t.Context(), b, top, 0, 5, text("kept")); err != nil {
		t.Fatal(err)
	}
	again := s.open(t)
	if again.ClusterID() != b.ClusterID() || len(b.ClusterID()) != 22 {
		t.Errorf("cluster ids %q and %q", b.ClusterID(), again.ClusterID())
	}
	view, err := again.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same, ok := view.ByID(top.ID)
	if !ok {
		t.Fatal("the topic's id changed")
	}
	if got := payloads(t, again, same, 0); len(got) != 5 {
		t.Errorf("%d messages after reopening", len(got))
	}
	if got, err := write(t.Context(), again, same, 0, 1, text("next")); err != nil || got.BaseOffset != 5 {
		t.Errorf("%+v %v, want base 5", got, err)
	}
}
