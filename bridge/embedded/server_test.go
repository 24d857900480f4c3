// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func createTopic(tb testing.TB, conn net.Conn, partitions uint32) {
	tb.Helper()
	do(tb, conn, iggywire.CreateStream{Name: "s"})
	do(tb, conn, iggywire.CreateTopic{
		Stream: iggywire.NamedID("s"), Name: "t", Partitions: partitions, Compression: iggywire.CompressionNone,
	})
}

func send(tb testing.TB, conn net.Conn, messages ...[]byte) {
	tb.Helper()
	if status, _ := roundTrip(tb, conn, iggywire.CodeSendMessages, sendBody(tb, "s", "t", messages...)); status != iggywire.StatusOK {
		tb.Fatalf("send: %v", status)
	}
}

// poll polls partition 0 of topic t in stream s and returns the payloads with
// their offsets.
func poll(tb testing.TB, conn net.Conn, strategy iggywire.PollStrategy, value uint64, count uint32) []string {
	tb.Helper()
	r, err := iggywire.ParsePollResult(do(tb, conn, iggywire.Poll{
		Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
		Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"),
		Strategy: strategy, Value: value, Count: count,
	}))
	if err != nil {
		tb.Fatal(err)
	}
	var got []string
	for rest := r.Messages; len(rest) > 0; {
		var msg []byte
		if msg, rest, err = iggywire.NextMessage(rest); err != nil {
			tb.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d=%s", iggywire.MessageOffset(msg), msg[iggywire.MessageHeaderSize:]))
	}
	if len(got) != int(r.Count) {
		tb.Fatalf("%d messages, counted as %d", len(got), r.Count)
	}
	return got
}

// TestPoll polls a partition whose sends have many sizes, from everywhere and in
// all sizes, and compares with what was sent.
func TestPoll(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, startServer(t, cfg))
			login(t, conn)
			createTopic(t, conn, 1)
			var want []string
			for _, n := range []int{1, 3, 1, 1, 7, 40, 2} {
				var messages [][]byte
				for range n {
					payload := strings.Repeat("x", len(want)*211%3001)
					messages = append(messages, message(uint64(len(want)+1), payload))
					want = append(want, fmt.Sprintf("%d=%s", len(want), payload))
				}
				send(t, conn, messages...)
			}
			end := uint32(len(want))
			for from := range end + 2 {
				for _, count := range []uint32{0, 1, 2, 5, 39, end, end + 1} {
					exp := want[min(from, end):min(from+count, end)]
					if diff := cmp.Diff(exp, poll(t, conn, iggywire.PollOffset, uint64(from), count), cmp.Transformer("same", sameList)); diff != "" {
						t.Fatalf("offset %d count %d (-sent +polled):\n%s", from, count, diff)
					}
				}
				exp := want[end-min(from, end):]
				if diff := cmp.Diff(exp, poll(t, conn, iggywire.PollLast, 0, from), cmp.Transformer("same", sameList)); diff != "" {
					t.Fatalf("last %d (-sent +polled):\n%s", from, diff)
				}
			}
		})
	}
}

// TestPollIsBounded: an answer ends behind the send that makes it 32 MiB, whatever count was asked for, and what
// somebody who has not logged in sends is short.
func TestPollIsBounded(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			conn := dial(t, s)
			login(t, conn)
			createTopic(t, conn, 1)
			large := strings.Repeat("x", 3<<20)
			for i := range 20 {
				send(t, conn, message(uint64(i+1), large))
			}
			if n := len(poll(t, conn, iggywire.PollOffset, 0, 1<<31)); n != 11 {
				t.Errorf("%d messages of 3 MiB in one answer", n)
			}
			if n := len(poll(t, conn, iggywire.PollOffset, 11, 1<<31)); n != 9 {
				t.Errorf("%d messages in the next", n)
			}
			stranger := dial(t, s)
			_, _ = stranger.Write(iggywire.AppendFrame(nil, iggywire.LoginUser{Username: "iggy", Version: strings.Repeat("x", 100<<10)}))
			if status, _, err := readAnswer(stranger); err != nil || status != iggywire.StatusInvalidCommand {
				t.Errorf("a login of 100 KiB: %v, %v", status, err)
			}
		})
	}
}

func sameList(list []string) string { return strings.Join(list, ",") }

// TestPollTimestamp finds messages by the time that the server gave them.
func TestPollTimestamp(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			times := []uint64{100, 100, 300, 200, 500} // 200 is stamped 300: time does not run backwards
			s.now = func() uint64 {
				if len(times) == 0 {
					return 500
				}
				now := times[0]
				times = times[1:]
				return now
			}
			conn := dial(t, s)
			login(t, conn)
			times = append([]uint64{1, 1}, times...) // stream and topic
			createTopic(t, conn, 1)
			for i := range 5 {
				send(t, conn, message(1, fmt.Sprint(i)), message(2, fmt.Sprint(i)))
			}
			for value, first := range map[uint64]uint64{0: 0, 100: 0, 101: 4, 300: 4, 301: 8, 500: 8} {
				got := poll(t, conn, iggywire.PollTimestamp, value, 1)
				want := []string{fmt.Sprintf("%d=%d", first, first/2)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("from time %d (-want +got):\n%s", value, diff)
				}
			}
			if got := poll(t, conn, iggywire.PollTimestamp, 501, 1); len(got) != 0 {
				t.Errorf("from the future: %v", got)
			}
		})
	}
}

// TestPipeline sends many requests before it reads an answer. The answers come in
// order, and a poll sees the sends before it.
func TestPipeline(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, startServer(t, cfg))
			login(t, conn)
			createTopic(t, conn, 1)
			const rounds = 300
			verify := iggywire.AppendFrame(nil, iggywire.Poll{
				Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
				Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), Strategy: iggywire.PollFirst,
			})
			var writing sync.WaitGroup
			writing.Go(func() {
				for i := range rounds {
					body := sendBody(t, "s", "t", message(uint64(i+1), "x"))
					frame := append(iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(body)), body...)
					if _, err := conn.Write(append(frame, verify...)); err != nil {
						t.Error(err)
						return
					}
				}
			})
			defer writing.Wait()
			for i := range rounds {
				status, body, err := readAnswer(conn)
				if err != nil || status != iggywire.StatusOK || len(body) != 0 {
					t.Fatalf("send %d: %v, %d bytes, %v", i, status, len(body), err)
				}
				_, body, err = readAnswer(conn)
				if err != nil {
					t.Fatal(err)
				}
				r, err := iggywire.ParsePollResult(body)
				if err != nil || r.CurrentOffset != uint64(i) {
					t.Fatalf("poll behind send %d: current offset %d, %v", i, r.CurrentOffset, err)
				}
			}
		})
	}
}

// TestRestart closes a server and opens another one on its folder: everything is
// there, numbers go on, and what was deleted or purged stays away.
func TestRestart(t *testing.T) {
	t.Run("durable", func(t *testing.T) { restart(t, Config{DataDir: t.TempDir()}) })
	t.Run("no fsync", func(t *testing.T) { restart(t, Config{DataDir: t.TempDir(), NoFsync: true}) })
}

func restart(t *testing.T, cfg Config) {
	s := startServer(t, cfg)
	conn := dial(t, s)
	login(t, conn)
	createTopic(t, conn, 3)
	send(t, conn, message(1, "a"), message(2, "b"))
	send(t, conn, message(3, "c"))
	stream := iggywire.NamedID("s")
	consumer := iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NamedID("app")}
	do(t, conn, iggywire.StoreOffset{Consumer: consumer, Stream: stream, Topic: iggywire.NamedID("t"), Offset: 1})
	for _, name := range []string{"gone", "purged"} {
		do(t, conn, iggywire.CreateTopic{Stream: stream, Name: name, Partitions: 1, Compression: iggywire.CompressionNone})
		body := sendBody(t, "s", name, message(1, "old"))
		if status, _ := roundTrip(t, conn, iggywire.CodeSendMessages, body); status != iggywire.StatusOK {
			t.Fatal(status)
		}
	}
	do(t, conn, iggywire.DeleteTopic{Stream: stream, Topic: iggywire.NamedID("gone")})
	do(t, conn, iggywire.PurgeTopic{Stream: stream, Topic: iggywire.NamedID("purged")})
	do(t, conn, iggywire.DeletePartitions{Stream: stream, Topic: iggywire.NamedID("t"), Partitions: 1})
	do(t, conn, iggywire.CreatePartitions{Stream: stream, Topic: iggywire.NamedID("t"), Partitions: 2})
	do(t, conn, iggywire.CreateGroup{Stream: stream, Topic: iggywire.NamedID("t"), Name: "g"})
	do(t, conn, iggywire.CreateUser{Username: "alice", Password: "secret", Status: iggywire.UserActive})
	do(t, conn, iggywire.CreateUser{Username: "bob", Password: "secret", Status: iggywire.UserActive})
	do(t, conn, iggywire.DeleteUser{User: iggywire.NamedID("bob")})
	do(t, conn, iggywire.UpdatePermissions{User: iggywire.NamedID("alice"), Permissions: &iggywire.Permissions{
		Streams: []iggywire.StreamPermissions{{Stream: 0, Topics: []iggywire.TopicPermissions{{Topic: 0, SendMessages: true}}}},
	}})
	token, err := iggywire.ParseRawToken(do(t, conn, iggywire.CreateToken{Name: "token"}))
	if err != nil {
		t.Fatal(err)
	}
	groupBefore := do(t, conn, iggywire.GetGroups{Stream: stream, Topic: iggywire.NamedID("t")})
	usersBefore := do(t, conn, iggywire.GetUser{User: iggywire.NamedID("alice")})
	before := do(t, conn, iggywire.GetStream{Stream: stream})
	topicBefore := do(t, conn, iggywire.GetTopic{Stream: stream, Topic: iggywire.NamedID("t")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = startServer(t, cfg)
	alice := dial(t, s)
	do(t, alice, iggywire.LoginUser{Username: "alice", Password: "secret"})
	if status, _ := roundTrip(t, alice, iggywire.CodeGetStreams, nil); status != iggywire.StatusUnauthorized {
		t.Errorf("alice lists streams: %v", status)
	}
	conn = dial(t, s)
	if status, _ := roundTrip(t, conn, iggywire.CodeLoginUser, iggywire.LoginUser{Username: "bob", Password: "secret"}.AppendTo(nil)); status != iggywire.StatusInvalidCredentials {
		t.Errorf("deleted user logs in: %v", status)
	}
	do(t, conn, iggywire.LoginWithToken(token))
	if after := do(t, conn, iggywire.GetStream{Stream: stream}); !bytes.Equal(before, after) {
		t.Errorf("stream was %x, is %x", before, after)
	}
	if after := do(t, conn, iggywire.GetGroups{Stream: stream, Topic: iggywire.NamedID("t")}); !bytes.Equal(groupBefore, after) {
		t.Errorf("groups were %x, are %x", groupBefore, after)
	}
	if after := do(t, conn, iggywire.GetUser{User: iggywire.NamedID("alice")}); !bytes.Equal(usersBefore, after) {
		t.Errorf("alice was %x, is %x", usersBefore, after)
	}
	if after := do(t, conn, iggywire.GetTopic{Stream: stream, Topic: iggywire.NamedID("t")}); !bytes.Equal(topicBefore, after) {
		t.Errorf("topic was %x, is %x", topicBefore, after)
	}
	offset, found, err := iggywire.ParseConsumerOffset(do(t, conn, iggywire.GetOffset{Consumer: consumer, Stream: stream, Topic: iggywire.NamedID("t")}))
	if err != nil || !found || offset.StoredOffset != 1 {
		t.Errorf("consumer offset %+v, %v, %v", offset, found, err)
	}
	send(t, alice, message(4, "d"))
	want := []string{"0=a", "1=b", "2=c", "3=d"}
	if diff := cmp.Diff(want, poll(t, conn, iggywire.PollFirst, 0, 10)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	// The number of the deleted topic is given out again; its messages are not.
	details, _, err := iggywire.ParseTopicDetails(do(t, conn, iggywire.CreateTopic{
		Stream: stream, Name: "new", Partitions: 1, Compression: iggywire.CompressionNone,
	}))
	if err != nil || details.ID != 1 || details.Messages != 0 {
		t.Errorf("new topic %+v, %v", details, err)
	}
}

// TestLargeMessage sends the largest payload that Iggy allows and one byte more.
func TestLargeMessage(t *testing.T) {
	conn := dial(t, startServer(t, Config{DataDir: t.TempDir()}))
	login(t, conn)
	createTopic(t, conn, 1)
	send(t, conn, message(1, strings.Repeat("x", iggywire.MaxPayload)))
	body := sendBody(t, "s", "t", message(2, strings.Repeat("x", iggywire.MaxPayload+1)))
	if status, _ := roundTrip(t, conn, iggywire.CodeSendMessages, body); status != iggywire.StatusTooBigMessagePayload {
		t.Errorf("too large: %v", status)
	}
	if got := poll(t, conn, iggywire.PollFirst, 0, 10); len(got) != 1 || len(got[0]) != len("0=")+iggywire.MaxPayload {
		t.Errorf("%d messages", len(got))
	}
}

// TestLimits checks what a peer cannot do.
func TestLimits(t *testing.T) {
	t.Run("connections", func(t *testing.T) {
		s := startServer(t, Config{InMemory: true, MaxConnections: 1})
		do(t, dial(t, s), iggywire.Bare(iggywire.CodePing))
		if _, err := dial(t, s).Read(make([]byte, 1)); err == nil {
			t.Error("a second connection is served")
		}
	})
	t.Run("send size", func(t *testing.T) {
		conn := dial(t, startServer(t, Config{InMemory: true, MaxSendSize: 1000}))
		login(t, conn)
		frame := iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, 1001)
		if _, err := conn.Write(frame); err != nil {
			t.Fatal(err)
		}
		if status, _, err := readAnswer(conn); status != iggywire.StatusTooBigMessagePayload {
			t.Errorf("%v, %v", status, err)
		}
		if _, _, err := readAnswer(conn); !errors.Is(err, io.EOF) {
			t.Errorf("connection goes on: %v", err)
		}
	})
	t.Run("stalled request", func(t *testing.T) {
		conn := dial(t, startServer(t, Config{InMemory: true, IOTimeout: 20 * time.Millisecond}))
		if _, err := conn.Write([]byte{100, 0, 0}); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("connection goes on: %v", err)
		}
	})
	t.Run("peer that does not read", func(t *testing.T) {
		t.Parallel()
		conn := dial(t, startServer(t, Config{InMemory: true, IOTimeout: 5 * time.Second})) // to send what it then does not read
		login(t, conn)
		createTopic(t, conn, 1)
		send(t, conn, message(1, strings.Repeat("x", 8<<20)))
		request := iggywire.AppendFrame(nil, iggywire.Poll{
			Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
			Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"),
			Strategy: iggywire.PollFirst, Count: 1,
		})
		for {
			if _, err := conn.Write(request); err != nil {
				return // closed, as it must be
			}
		}
	})
}

// TestSlowReader reads a large answer slowly, but steadily: longer than the
// timeout in all.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const timeout = 5 * time.Second
	conn := dial(t, startServer(t, Config{InMemory: true, IOTimeout: timeout}))
	login(t, conn)
	createTopic(t, conn, 1)
	payload := strings.Repeat("0123456789abcdef", 1<<20)
	send(t, conn, message(1, payload), message(2, "behind"))
	request := iggywire.AppendFrame(nil, iggywire.Poll{
		Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
		Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"),
		Strategy: iggywire.PollFirst, Count: 2,
	})
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	status, body, err := readAnswer(&slowly{conn: conn, pause: timeout / 20})
	if err != nil || status != iggywire.StatusOK || !bytes.Contains(body, []byte(payload)) || !bytes.HasSuffix(body, []byte("behind")) {
		t.Errorf("status %v, %d bytes, %v", status, len(body), err)
	}
	if took := time.Since(started); took < timeout {
		t.Errorf("read within %v: proves nothing", took)
	}
}

// slowly pauses before each half a megabyte.
type slowly struct {
	conn  net.Conn
	pause time.Duration
	read  int
}

func (s *slowly) Read(p []byte) (int, error) {
	const step = 512 << 10
	if s.read%step == 0 {
		<-time.After(s.pause)
	}
	n, err := s.conn.Read(p[:min(len(p), step-s.read%step)])
	s.read += n
	return n, err
}

// TestAllocation announces a large request and sends nothing of it.
func TestAllocation(t *testing.T) {
	if _, err := readGrowing(strings.NewReader("abc"), nil, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(20, func() { // others allocate, too, now and then
		b, _ := readGrowing(strings.NewReader("abc"), nil, 1<<30)
		if cap(b) > readStep {
			t.Errorf("%d bytes of memory for 3 received", cap(b))
		}
	})
	if allocated > 5 {
		t.Errorf("%v allocations", allocated)
	}
	big := strings.Repeat("0123456789abcdef", 1<<18)
	got, err := readGrowing(strings.NewReader(big), nil, len(big))
	if err != nil || string(got) != big {
		t.Errorf("%d bytes of %d, %v", len(got), len(big), err)
	}
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no store":        {},
		"two stores":      {InMemory: true, DataDir: "x"},
		"short name":      {InMemory: true, Username: "x"},
		"short password":  {InMemory: true, Password: "x"},
		"nothing to lose": {InMemory: true, LoseUnflushed: true},
		"negative limit":  {InMemory: true, MaxConnections: -1},
		"bad address":     {InMemory: true, Addr: "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := Start(t.Context(), cfg); err == nil {
				s.Close()
				t.Error("started")
			}
		})
	}
	t.Run("data folder in use", func(t *testing.T) {
		cfg := Config{DataDir: t.TempDir()}
		startServer(t, cfg)
		if s, err := Start(t.Context(), cfg); err == nil {
			s.Close()
			t.Error("started twice")
		}
	})
	t.Run("data of a version to come", func(t *testing.T) {
		cfg := Config{DataDir: t.TempDir()}
		s := startServer(t, cfg)
		if err := s.store.(*pebbleStore).db.Set([]byte{formatKey}, []byte("2"), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err := Start(t.Context(), cfg); err == nil {
			s.Close()
			t.Error("started")
		}
	})
}

// TestClose closes a server under load: nothing hangs and nothing is left.
func TestClose(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			conn := dial(t, s)
			login(t, conn)
			createTopic(t, conn, 1)
			var senders sync.WaitGroup
			started := make(chan struct{}, 4)
			for range 4 {
				c := dial(t, s)
				login(t, c)
				body := sendBody(t, "s", "t", message(1, "x"))
				frame := append(iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(body)), body...)
				senders.Go(func() {
					for i := 0; ; i++ {
						if i == 10 {
							started <- struct{}{}
						}
						if _, err := c.Write(frame); err != nil {
							return
						}
						if _, _, err := readAnswer(c); err != nil {
							return
						}
					}
				})
			}
			for range 4 {
				<-started
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			senders.Wait()
		})
	}
}

// TestXXH32 compares with values of the reference implementation.
func TestXXH32(t *testing.T) {
	for text, want := range map[string]uint32{
		"":    0x02cc5d05,
		"a":   0x550d7456,
		"abc": 0x32d153ff,
		"Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if got := xxh32([]byte(text)); got != want {
			t.Errorf("xxh32(%q) = %08x, want %08x", text, got, want)
		}
	}
}
