// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func topicNames(t *testing.T, b *Bridge) []string {
	t.Helper()
	view, err := b.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, top := range view.Topics {
		names = append(names, top.Name)
	}
	return names
}

// The view is asked for at most once a second, and never older than a change made through the bridge.
func TestTopicView(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		asked := f.asked(iggywire.CodeGetStream)
		for range 100 {
			if got := topicNames(t, b); got != nil {
				t.Fatal(got)
			}
		}
		if n := f.asked(iggywire.CodeGetStream) - asked; n > 1 {
			t.Errorf("100 looks asked Iggy %d times", n)
		}
		made := topic(t, b, "b", 3)
		topic(t, b, "a", 1)
		if diff := cmp.Diff([]string{"a", "b"}, topicNames(t, b)); diff != "" {
			t.Error(diff)
		}
		view, _ := b.Topics(t.Context())
		if got, ok := view.ByID(made.ID); !ok || got.Name != "b" || got.Partitions != 3 {
			t.Errorf("by id: %+v %v; want what CreateTopic returned", got, ok)
		}
		if err := b.DeleteTopic(t.Context(), b.Self(), made); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a"}, topicNames(t, b)); diff != "" {
			t.Error(diff)
		}
		// The newest view is there without waiting, also when Iggy hangs.
		time.Sleep(time.Minute)
		f.setFault(func(iggywire.Code) fault { return hang })
		start := time.Now()
		for range 3 {
			if now := b.TopicsNow(); now == nil || len(now.Topics) != 1 {
				t.Fatalf("%+v", now)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v", took)
		}
		f.setFault(nil)
		time.Sleep(time.Minute)
		// Somebody else's topic shows within a second.
		f.mu.Lock()
		f.createTopic(iggywire.CreateTopic{Stream: iggywire.NamedID("kafka"), Name: "c", Partitions: 1})
		f.createTopic(iggywire.CreateTopic{Stream: iggywire.NamedID("kafka"), Name: "not for kafka", Partitions: 1})
		f.mu.Unlock()
		time.Sleep(time.Second + time.Millisecond)
		if diff := cmp.Diff([]string{"a", "c"}, topicNames(t, b)); diff != "" {
			t.Error(diff)
		}
		if view, _ := b.Topics(t.Context()); view.Hidden != 1 {
			t.Errorf("%d topics hidden, want 1", view.Hidden)
		}
	})
}

func TestCreateTopicErrors(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		topic(t, b, "a.b", 1)
		_, err := b.CreateTopic(t.Context(), b.Self(), TopicSpec{Name: "a.b", Partitions: 1})
		if !IsExists(err) {
			t.Errorf("twice: %v", err)
		}
		// A size below one segment becomes one segment.
		if _, err := b.CreateTopic(t.Context(), b.Self(), TopicSpec{Name: "tiny", Partitions: 1, MaxSize: 1}); err != nil {
			t.Errorf("tiny: %v", err)
		}
		f.once(iggywire.CodeCreateTopic, dropAfter)
		if _, err := b.CreateTopic(t.Context(), b.Self(), TopicSpec{Name: "lost", Partitions: 1}); !IsUnknownOutcome(err) {
			t.Errorf("answer lost: %v", err)
		}
		view, err := b.Topics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := view.Colliding("a_b"); !ok || other != "a.b" {
			t.Errorf("a_b collides with %q %v", other, ok)
		}
		if _, ok := view.Colliding("a.b"); ok {
			t.Error("a.b collides with itself")
		}
	})
}

// A topic is deleted only if it still is the one that was looked up.
func TestDeleteAnotherIncarnation(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		old := topic(t, b, "orders", 1)
		f.mu.Lock()
		delete(f.streams["kafka"].topics, "orders")
		f.createTopic(iggywire.CreateTopic{Stream: iggywire.NamedID("kafka"), Name: "orders", Partitions: 1})
		f.mu.Unlock()
		if err := b.DeleteTopic(t.Context(), b.Self(), old); !IsNotFound(err) {
			t.Errorf("%v", err)
		}
		if f.streams["kafka"].topics["orders"] == nil {
			t.Error("the new topic is gone")
		}
	})
}

func TestTopicID(t *testing.T) {
	seen := map[TopicID]bool{}
	for created := range uint64(3000) {
		id := topicID(0, 0, created)
		if id == (TopicID{}) || seen[id] {
			t.Fatalf("created %d: id %v is zero or not new", created, id)
		}
		seen[id] = true
		if id.String()[0] == '-' {
			t.Fatalf("id %v begins like an option", id)
		}
		if id[6]>>4 != 8 || id[8]>>6 != 2 {
			t.Fatalf("id %x is no UUID of version 8", id)
		}
	}
	if topicID(1, 2, 3) == topicID(2, 1, 3) {
		t.Error("stream and topic are mixed up")
	}
	if id := clusterID(1, 2); len(id) != 22 {
		t.Errorf("cluster id %q", id)
	}
}

// A watch is woken at once by this gateway's writes, and within half a second by those of others.
func TestWatch(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 2)
		if _, err := b.Bounds(t.Context(), top); err != nil {
			t.Fatal(err)
		}
		w := b.Watch([]*Topic{top})
		start := time.Now()
		if _, err := write(t, b, top, 1, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		<-w.News()
		if took := time.Since(start); took != 0 {
			t.Errorf("own write noticed after %v", took)
		}
		if known, ok := b.KnownBounds(top, 1); !ok || known.Next != 1 {
			t.Errorf("known bounds %+v %v", known, ok)
		}
		time.Sleep(time.Minute) // the prober has become slow
		f.mu.Lock()
		f.foreign("orders", 0, 4)
		f.mu.Unlock()
		start = time.Now()
		<-w.News()
		if took := time.Since(start); took > probeMax {
			t.Errorf("foreign write noticed after %v", took)
		}
		if known, ok := b.KnownBounds(top, 0); !ok || known.Next != 4 {
			t.Errorf("known bounds %+v %v", known, ok)
		}
		w.Close()
		// Nobody watches: nobody asks.
		time.Sleep(time.Second)
		asked := f.asked(iggywire.CodeGetTopic)
		time.Sleep(time.Minute)
		if n := f.asked(iggywire.CodeGetTopic) - asked; n != 0 {
			t.Errorf("the prober asked %d times with nobody watching", n)
		}
	})
}

// A watch learns that its topic was deleted, by this gateway at once and by others within the prober's interval.
func TestWatchedTopicGoes(t *testing.T) {
	for _, own := range []bool{true, false} {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			w := b.Watch([]*Topic{top})
			defer w.Close()
			if w.Gone(top) {
				t.Fatal("gone from the start")
			}
			start := time.Now()
			if own {
				if err := b.DeleteTopic(t.Context(), b.Self(), top); err != nil {
					t.Fatal(err)
				}
			} else {
				f.mu.Lock()
				delete(f.streams["kafka"].topics, "orders")
				f.mu.Unlock()
			}
			for !w.Gone(top) {
				<-w.News()
			}
			if took := time.Since(start); took > probeMax || own && took > 0 {
				t.Errorf("own deletion %v: noticed after %v", own, took)
			}
		})
	}
}

// Idle, the prober backs off: a minute costs about 2 questions a second, not 20.
func TestProberBacksOff(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		w := b.Watch([]*Topic{topic(t, b, "orders", 1)})
		defer w.Close()
		time.Sleep(time.Minute)
		if n := f.asked(iggywire.CodeGetTopic); n < 100 || n > 150 {
			t.Errorf("%d questions in a minute", n)
		}
	})
}

// Many who ask for the same at the same time share one question, and nobody gets an answer from before it asked.
func TestBoundsAreShared(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodeGetTopic {
				return slow
			}
			return behave
		})
		start := make(chan struct{})
		failed := make(chan error, 200)
		for range cap(failed) {
			go func() {
				<-start
				_, err := b.Bounds(t.Context(), top)
				failed <- err
			}()
		}
		synctest.Wait()
		close(start)
		for range cap(failed) {
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
		if n := f.asked(iggywire.CodeGetTopic); n > 2 {
			t.Errorf("200 asked at once: %d questions", n)
		}
		f.mu.Lock()
		f.foreign("orders", 0, 7)
		f.mu.Unlock()
		if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Next != 7 {
			t.Errorf("%+v %v; want 7 records", bounds, err)
		}
	})
}

// After retention the first offset moves up; it is asked for once per change.
func TestLogStart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 10)); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		p := f.partition("orders", 0)
		p.first, p.messages = 6, p.messages[6:]
		f.mu.Unlock()
		time.Sleep(time.Millisecond) // what is asked from now on is newer than what is known
		polls := f.asked(iggywire.CodePollMessages)
		for range 3 {
			bounds, err := b.Bounds(t.Context(), top)
			if want := (Bounds{Start: 6, Next: 10, MessageSize: 67, Bytes: 4 * 67}); err != nil || bounds[0] != want {
				t.Fatalf("%+v %v; want %+v", bounds, err, want)
			}
		}
		if n := f.asked(iggywire.CodePollMessages) - polls; n != 1 {
			t.Errorf("%d polls for the first message, want 1", n)
		}
		want := Appended{BaseOffset: 10, LogStart: 6, Timestamp: -1}
		if got, err := write(t, b, top, 0, batch(b, 2, 1)); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// What is learnt out of order: the newer knowledge counts, of overlapping knowledge the higher end.
func TestLearn(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var p partitionState
	for _, step := range []struct {
		next            int64
		asked, answered int
		want            int64
	}{
		{10, 1, 2, 10},
		{8, 1, 3, 10},  // asked before the last was known
		{20, 2, 4, 20}, // overlaps, higher
		{15, 5, 6, 15}, // asked after: the partition went back
		{16, 7, 8, 16},
	} {
		p.learn(end{step.next, -1}, at(step.asked), at(step.answered))
		if p.next != step.want {
			t.Fatalf("after %+v: %d", step, p.next)
		}
	}
}

// Bytes tells how much came in between two looks, whoever wrote it.
func TestBytes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := b.Bounds(t.Context(), top); err != nil {
			t.Fatal(err)
		}
		if _, err := write(t, b, top, 0, batch(b, 1, 10)); err != nil {
			t.Fatal(err)
		}
		if known, ok := b.KnownBounds(top, 0); !ok || known != (Bounds{Next: 10, MessageSize: 67, Bytes: 670}) {
			t.Errorf("own write: %+v %v", known, ok)
		}
		f.mu.Lock()
		f.foreign("orders", 0, 5)
		f.mu.Unlock()
		if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0] != (Bounds{Next: 15, MessageSize: 67, Bytes: 1005}) {
			t.Errorf("foreign write: %+v %v", bounds, err)
		}
	})
}

func TestRead(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxAnswerSize = 700 }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 100)); err != nil {
			t.Fatal(err)
		}
		// 100 messages are 6,700 bytes, too large an answer: fewer are asked for.
		m, err := b.Read(t.Context(), b.Self(), top, 0, 40, 64)
		if err != nil {
			t.Fatal(err)
		}
		if m.Count != 8 || m.Current != 99 || iggywire.MessageOffset(m.Messages) != 40 {
			t.Errorf("%d messages, current %d", m.Count, m.Current)
		}
		m.Release()
		if _, err := b.Read(t.Context(), b.Self(), &Topic{Name: "x", Iggy: IggyName{"kafka", "x"}}, 0, 0, 1); !IsNotFound(err) {
			t.Errorf("missing topic: %v", err)
		}
	})
}

func TestOpen(t *testing.T) {
	open := func(t *testing.T, f *fakeIggy, names *Names) error {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		b, err := Open(ctx, Config{
			Addr: "iggy:8090", Username: "iggy", Password: "iggy", Names: names, Dial: f.dial, Logger: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			b.Close(ctx)
		}
		return err
	}
	t.Run("unreachable", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeIggy(t)
			f.down = true
			start := time.Now()
			if err := open(t, f, NewNames("kafka")); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v", err)
			}
			if took := time.Since(start); took != 15*time.Second || f.dials < 3 {
				t.Errorf("gave up after %v and %d tries", took, f.dials)
			}
		})
	})
	t.Run("comes up late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeIggy(t)
			f.down = true
			time.AfterFunc(5*time.Second, func() { f.mu.Lock(); f.down = false; f.mu.Unlock() })
			if err := open(t, f, NewNames("kafka")); err != nil {
				t.Errorf("%v", err)
			}
		})
	})
	t.Run("told while it tries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeIggy(t)
			unknown := &net.DNSError{Err: "no such host", Name: "iggy", IsNotFound: true} // until the server beside it has started
			start, tries := time.Now(), 0
			var told []error
			b, err := Open(t.Context(), Config{
				Addr: "iggy:8090", Username: "iggy", Password: "iggy", Names: NewNames("kafka"), Retrying: func(why error) { told = append(told, why) },
				Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					if tries++; time.Since(start) < 5*time.Second {
						return nil, unknown
					}
					return f.dial(ctx, network, addr)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			b.Close(t.Context())
			if len(told) < tries-1 || tries < 3 {
				t.Errorf("%d tries, told of %d", tries, len(told))
			}
			for _, why := range told {
				if !errors.Is(why, unknown) {
					t.Errorf("told %v", why)
				}
			}
		})
	})
	t.Run("unfit certificate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			unfit := &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "iggy"}}
			start := time.Now()
			_, err := Open(t.Context(), Config{
				Addr: "iggy:8090", Username: "iggy", Password: "iggy", Names: NewNames("kafka"),
				Dial:     func(context.Context, string, string) (net.Conn, error) { return nil, unfit },
				Retrying: func(why error) { t.Errorf("to be tried again: %v", why) },
			})
			if !errors.Is(err, unfit) || time.Since(start) > time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("bad password", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeIggy(t)
			f.setFault(func(iggywire.Code) fault { return unauthed })
			start := time.Now()
			if err := open(t, f, NewNames("kafka")); !IsLoginFailed(err) || time.Since(start) > time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("mapped stream missing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			names, err := ParseTopicMap([]byte("default_stream = 'kafka'\n[topics.a]\nstream = 'elsewhere'\ntopic = 'a'\n"))
			if err != nil {
				t.Fatal(err)
			}
			f := newFakeIggy(t)
			if err := open(t, f, names); !IsNotFound(err) {
				t.Errorf("%v", err)
			}
			b := f.open(t, func(c *Config) { c.Names, c.CreateStreams = names, true })
			if got := topic(t, b, "a", 1); got.Iggy != (IggyName{"elsewhere", "a"}) {
				t.Errorf("made at %v", got.Iggy)
			}
		})
	})
}

// Idle connections are signed out, the last one stays; that is no loss, which would make all lanes ask again.
func TestReap(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		pool := b.self.writes
		for range 10 { // each one taken is busy: the next look dials another
			c, err := pool.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.load.Store(busyCalls)
			pool.put(c)
			synctest.Wait()
		}
		pool.mu.Lock()
		for _, c := range pool.members {
			c.load.Store(0)
		}
		n := len(pool.members)
		pool.mu.Unlock()
		if n < 5 {
			t.Fatalf("%d connections under load", n)
		}
		time.Sleep(20 * time.Minute)
		pool.mu.Lock()
		n = len(pool.members)
		pool.mu.Unlock()
		if epoch := b.epoch.Load(); n != 1 || epoch != 0 {
			t.Errorf("after 20 idle minutes: %d connections, %d counted as lost", n, epoch)
		}
		if _, err := pool.get(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// After a failed dial callers fail at once, and the next try comes later each time.
func TestRedialBacksOff(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.mu.Lock()
		f.down = true
		for c := range f.conns {
			_ = c.Close()
		}
		before := f.dials
		f.mu.Unlock()
		for range 600 { // a minute of callers
			if _, err := b.self.writes.get(t.Context()); !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := f.dials - before; n < 40 || n > 80 {
			t.Errorf("%d dials in a minute", n)
		}
	})
}

func TestClosedBridge(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, _ *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		b.Close(t.Context())
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("append: %v", err)
		}
		if _, err := b.Bounds(t.Context(), top); !errors.Is(err, ErrClosed) {
			t.Errorf("bounds: %v", err)
		}
	})
}
