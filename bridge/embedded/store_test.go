// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TestPowerFailure cuts the power, so that nothing is left but what was synced,
// while senders are at work: whatever was acknowledged before is there.
func TestPowerFailure(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := startOn(t, fs)
	conn := dial(t, s)
	login(t, conn)
	createTopic(t, conn, 1)
	const senders, rounds = 4, 50
	var (
		mu           sync.Mutex
		acknowledged int
		left         *vfs.MemFS
		sending      sync.WaitGroup
	)
	for sender := range senders {
		c := dial(t, s)
		login(t, c)
		sending.Go(func() {
			for i := range rounds {
				body := sendBody(t, "s", "t", message(uint64(sender*rounds+i+1), strings.Repeat("x", 100)))
				if status, _, err := request(c, iggywire.CodeSendMessages, body); err != nil || status != iggywire.StatusOK {
					t.Errorf("send: %v, %v", status, err)
				}
				mu.Lock()
				if left == nil {
					if acknowledged++; acknowledged == senders*rounds/2 {
						left = fs.CrashClone(vfs.CrashCloneCfg{})
					}
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()

	conn = dial(t, startOn(t, left))
	login(t, conn)
	if got := len(pollAll(t, conn, 0)); got < acknowledged {
		t.Errorf("%d messages acknowledged before the power failure, %d left", acknowledged, got)
	}
}

func startOn(t *testing.T, fs vfs.FS) *Server {
	t.Helper()
	st, err := openPebble(fs, "data", true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := start(t.Context(), Config{}.withDefaults(), st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// logs opens an empty log in each store.
func logs(t *testing.T) map[string]messageLog {
	st, err := openPebble(vfs.NewMem(), "data", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	})
	all := make(map[string]messageLog)
	for name, st := range map[string]store{"memory": memoryStore{}, "pebble": st} {
		log, last, err := st.open(logID{incarnation: 1, partition: 2})
		if err != nil || last.count != 0 {
			t.Fatal(last, err)
		}
		all[name] = log
	}
	return all
}

// TestLog fills a log with random entries and compares reading and finding with
// a plain list.
func TestLog(t *testing.T) {
	for name, log := range logs(t) {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var (
				plain  []string // message by offset
				times  []uint64
				starts []uint64 // offsets at which an entry begins
				size   uint64
				done   sync.WaitGroup
			)
			for now := uint64(10); len(plain) < 600; now += random.Uint64N(3) {
				e := entry{base: uint64(len(plain)), timestamp: now, count: 1 + random.Uint32N(9)}
				starts = append(starts, e.base)
				for range e.count {
					msg := message(uint64(len(plain)+1), strings.Repeat("y", random.IntN(20_000))) // some entries are several of Pebble's
					iggywire.Stamp(msg, uint64(len(plain)), now, func([]byte) uint64 { return 0 })
					e.messages = append(e.messages, msg...)
					plain, times = append(plain, string(msg)), append(times, now)
				}
				size += uint64(len(e.messages))
				e.size = size
				done.Add(1)
				log.append(e, nil, func(err error) {
					if err != nil {
						t.Error(err)
					}
					done.Done()
				})
			}
			done.Wait()
			end, first := uint64(len(plain)), uint64(0)
			var readers [10]uint64 // where each goes on
			for i := range 500 {
				if i%100 == 50 { // and now without the beginning
					first = starts[len(starts)*i/1000]
					done.Add(1)
					log.trim(first, nil, func(err error) {
						if err != nil {
							t.Error(err)
						}
						done.Done()
					})
					done.Wait()
				}
				reader := &readers[random.IntN(len(readers))]
				if *reader < first || *reader >= end {
					*reader = first + random.Uint64N(end-first)
				}
				from := *reader
				limit := from + 1 + random.Uint64N(end-from)
				count := 1 + random.Uint32N(50)
				read, err := log.read(from, limit, count)
				if err != nil {
					t.Fatal(err)
				}
				var got strings.Builder
				for _, part := range read.parts {
					got.Write(part)
				}
				want := plain[from:min(limit, from+uint64(count))]
				if int(read.count) != len(want) || got.String() != strings.Join(want, "") {
					t.Fatalf("read from %d below %d up to %d: %d messages, want %d", from, limit, count, read.count, len(want))
				}
				*reader += uint64(read.count)
			}
			if _, err := log.read(0, end, 1); name == "pebble" && !errors.Is(err, errBadEntry) {
				t.Errorf("read of what was trimmed: %v", err)
			}
			for at := uint64(0); at <= times[len(times)-1]+1; at++ {
				want := end
				for i, ts := range times {
					if ts >= at && uint64(i) >= first {
						want = uint64(i)
						break
					}
				}
				got, err := log.find(at, first, end)
				if diff := cmp.Diff(fmt.Sprint(want, nil), fmt.Sprint(got, err)); diff != "" {
					t.Fatalf("find %d (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}

// TestSlab compares the slab with what Iggy gives out: the number freed last
// comes first, and after a start the lowest.
func TestSlab(t *testing.T) {
	var s slab[string]
	value := "x"
	for want := range uint32(5) {
		if got := s.add(&value); got != want {
			t.Fatalf("number %d, want %d", got, want)
		}
	}
	s.remove(1)
	s.remove(3)
	for _, want := range []uint32{3, 1, 5} {
		if s.next() != want {
			t.Errorf("next %d, want %d", s.next(), want)
		}
		if got := s.add(&value); got != want {
			t.Errorf("number %d, want %d", got, want)
		}
	}
	s.restore(map[uint32]*string{1: &value, 4: &value})
	if s.count != 2 || s.get(1) == nil || s.get(0) != nil || s.get(99) != nil {
		t.Errorf("restored %+v", s)
	}
	for _, want := range []uint32{0, 2, 3, 5} {
		if got := s.add(&value); got != want {
			t.Errorf("number %d, want %d", got, want)
		}
	}
}

// TestLose takes messages off the end of a partition, in the middle of a send and
// at its beginning: offsets are given out again, also after a restart.
func TestLose(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			conn := dial(t, s)
			login(t, conn)
			createTopic(t, conn, 1)
			send(t, conn, message(1, "a"), message(2, "b"))
			send(t, conn, message(3, "c"), message(4, "d"), message(5, "e"))
			for _, test := range []struct {
				end  uint64
				want []string
			}{
				{9, []string{"0=a", "1=b", "2=c", "3=d", "4=e", "5=new"}},
				{4, []string{"0=a", "1=b", "2=c", "3=d", "4=new"}},
				{2, []string{"0=a", "1=b", "2=new"}},
				{1, []string{"0=a", "1=new"}},
				{0, []string{"0=new"}},
			} {
				if err := s.Lose("s", "t", 0, test.end); err != nil {
					t.Fatal(err)
				}
				send(t, conn, message(6, "new"))
				if diff := cmp.Diff(test.want, poll(t, conn, iggywire.PollFirst, 0, 10)); diff != "" {
					t.Errorf("lost from %d on (-want +got):\n%s", test.end, diff)
				}
				topic, _, err := iggywire.ParseTopicDetails(do(t, conn, iggywire.GetTopic{Stream: iggywire.NamedID("s"), Topic: iggywire.NamedID("t")}))
				size := uint64(iggywire.MessageHeaderSize*len(test.want) + len(test.want) + len("new") - 1)
				if err != nil || topic.Size != size || topic.Messages != uint64(len(test.want)) {
					t.Errorf("lost from %d on: %d messages of %d bytes, want %d of %d", test.end, topic.Messages, topic.Size, len(test.want), size)
				}
			}
			if err := s.Lose("s", "none", 0, 0); err == nil {
				t.Error("lost messages of a missing topic")
			}
			if cfg.InMemory {
				return
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			conn = dial(t, startServer(t, cfg))
			login(t, conn)
			send(t, conn, message(7, "newer"))
			if diff := cmp.Diff([]string{"0=new", "1=newer"}, poll(t, conn, iggywire.PollFirst, 0, 10)); diff != "" {
				t.Errorf("after a restart (-want +got):\n%s", diff)
			}
		})
	}
}
