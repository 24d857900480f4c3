// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// backoff is how long a writer waits before it tries again, as a client's retry.backoff.ms.
const backoff = 10 * time.Millisecond

// TestRestartsUnderLoad stops and starts a server while bridges and native programs write to one partition. What was
// acknowledged is there once, at the offset that was said; of what was not there is all or nothing.
func TestRestartsUnderLoad(t *testing.T) {
	cfg := Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = s.Addr().String() // from now on, always
	l := restartLoad{addr: cfg.Addr}
	bridges := make([]*bridge.Bridge, 2)
	for i := range bridges {
		bridges[i], err = bridge.Open(t.Context(), bridge.Config{Addr: cfg.Addr, Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
		if err != nil {
			t.Fatal(err)
		}
		defer bridges[i].Close(t.Context())
	}
	if l.topic, err = bridges[0].CreateTopic(t.Context(), bridges[0].Self(), bridge.TopicSpec{Name: "orders", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() { l.bridgeWriter(ctx, t, bridges[i%len(bridges)], i) })
	}
	for i := range 2 {
		writers.Go(func() { l.nativeWriter(ctx, t, i) })
	}
	for range 4 {
		l.await(ctx, t, l.acknowledged.Load()+100)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Start(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	l.await(ctx, t, l.acknowledged.Load()+100)
	l.enough.Store(true)
	writers.Wait()
	stored, err := bridgetest.Payloads(ctx, bridges[0], l.topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.written.Check(stored); err != nil {
		t.Error(err)
	}
	for _, b := range bridges {
		b.Close(ctx)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// restartLoad is what the writers share.
type restartLoad struct {
	addr         string
	topic        *bridge.Topic
	written      bridgetest.Written
	acknowledged atomic.Int64 // batches
	enough       atomic.Bool
}

// await waits until so many batches are acknowledged.
func (l *restartLoad) await(ctx context.Context, t *testing.T, n int64) {
	t.Helper()
	for l.acknowledged.Load() < n {
		if !pause(ctx) {
			t.Fatalf("%d batches acknowledged, waiting for %d", l.acknowledged.Load(), n)
		}
	}
}

func pause(ctx context.Context) bool {
	select {
	case <-time.After(backoff):
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *restartLoad) done(label string, n int, base int64) {
	l.written.Acknowledged(label, n, base)
	l.acknowledged.Add(1)
}

func (l *restartLoad) bridgeWriter(ctx context.Context, t *testing.T, b *bridge.Bridge, writer int) {
	for i := 0; !l.enough.Load() && ctx.Err() == nil; i++ {
		label, n := fmt.Sprintf("bridge %d batch %d", writer, i), 1+i%5
		ids := mapping.IDs{ProducerID: int64(writer), BaseSequence: int32(i * 5)}
		a := &bridge.Append{Session: b.Self(), Count: n, Deadline: time.Now().Add(10 * time.Second)}
		for j := range n {
			a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(j), Payload: fmt.Appendf(nil, "%s %d", label, j)})
		}
		err := b.Append(l.topic, 0, a)
		var got bridge.Appended
		if err == nil {
			got, err = a.Wait(ctx)
		}
		switch {
		case err == nil:
			l.done(label, n, got.BaseOffset)
		case bridge.IsUnknownOutcome(err):
			l.written.Unknown(label, n)
		case errors.Is(err, bridge.ErrUnavailable):
			pause(ctx) // nothing was sent
		default:
			t.Errorf("%s: %v", label, err)
			return
		}
	}
}

func (l *restartLoad) nativeWriter(ctx context.Context, t *testing.T, writer int) {
	for i := 0; !l.enough.Load() && ctx.Err() == nil; pause(ctx) {
		conn, err := net.Dial("tcp", l.addr)
		if err != nil {
			continue
		}
		login := iggywire.LoginUser{Username: "iggy", Password: "iggy"}
		if _, _, err = request(conn, login.Code(), login.AppendTo(nil)); err == nil {
			i = l.nativeConn(t, conn, writer, i)
		}
		conn.Close()
	}
}

// nativeConn writes batches from number i on until its connection is lost, and returns the next one's number.
func (l *restartLoad) nativeConn(t *testing.T, conn net.Conn, writer, i int) int {
	for ; !l.enough.Load(); i++ {
		label, n := fmt.Sprintf("native %d batch %d", writer, i), 1+i%3
		var batch [][]byte
		for j := range n {
			batch = append(batch, message(0, fmt.Sprintf("%s %d", label, j)))
		}
		status, _, err := request(conn, iggywire.CodeSendMessages, sendBody(t, l.topic.Iggy.Stream, l.topic.Iggy.Topic, batch...))
		switch {
		case err != nil:
			l.written.Unknown(label, n)
			return i + 1
		case status != iggywire.StatusOK:
			t.Errorf("%s: %v", label, status)
			return i + 1
		}
		l.done(label, n, -1)
	}
	return i
}
