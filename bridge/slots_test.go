// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// writers counts, from now on, the connections that have sent and not signed out, and notes the most there were.
func (f *fakeIggy) writers() (most func() int) {
	sent := map[net.Conn]struct{}{}
	highest := 0
	f.with(func() {
		f.seen = func(c net.Conn, code iggywire.Code) {
			switch code {
			case iggywire.CodeSendMessages:
				sent[c] = struct{}{}
			case iggywire.CodeLogoutUser:
				delete(sent, c)
			}
			highest = max(highest, len(sent))
		}
	})
	return func() (n int) {
		f.with(func() { n = highest })
		return n
	}
}

// people are the names of n users.
func people(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("user%02d", i))
	}
	return names
}

// However few connections may write, and however many users do all the time, each gets its turn, and the bound holds.
func TestWriteConnectionsShared(t *testing.T) {
	const users, batches = 12, 10
	for _, bound := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			withPrincipals(t, func(c *Config) { c.MaxWriteConnections = bound }, people(users), func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 4)
				sessions := []*Session{b.self}
				for _, name := range people(users) {
					if name == "user05" { // one whose client's connection has to carry its writes
						f.with(func() { f.users.byName[name].noTokens = iggywire.StatusTokensLimitReached })
					}
					sessions = append(sessions, signIn(t, b, name))
				}
				most := f.writers()
				f.setFault(func(code iggywire.Code) fault {
					if code == iggywire.CodeSendMessages {
						return brief
					}
					return behave
				})
				var wg sync.WaitGroup
				for i, s := range sessions {
					for p := range top.Partitions {
						wg.Go(func() {
							for range batches {
								if _, err := write(t, b, top, p, as(s, batch(b, byte(i), 1))); err != nil {
									t.Errorf("user %d: %v", i, err)
								}
							}
						})
					}
				}
				wg.Wait()
				if turns := f.did("user01", iggywire.CodeLoginWithToken); turns > batches*int(top.Partitions) {
					t.Errorf("a user had to connect %d times", turns)
				}
				stored := 0
				f.with(func() {
					for i := range f.streams["kafka"].topics["orders"].partitions {
						stored += len(f.partition("orders", i).messages)
					}
				})
				if n := stored; n != (users+1)*batches*int(top.Partitions) {
					t.Errorf("%d messages", n)
				}
				// What the client brought is one of the most, whether it writes or not.
				if n := most(); n > bound+1 {
					t.Errorf("%d connections carried writes, at most %d should", n, bound)
				}
				if n := b.epoch.Load(); n != 0 {
					t.Errorf("%d connections counted as lost", n)
				}
				for _, s := range sessions[1:] {
					s.Close(t.Context())
				}
				synctest.Wait()
				b.slots.mu.Lock()
				defer b.slots.mu.Unlock()
				if held := bound - b.slots.free; held > 1 || len(b.slots.waiting) > 0 || len(b.slots.pools) != 1 {
					t.Errorf("at the end %d slots are held, %d wait, %d pools", held, len(b.slots.waiting), len(b.slots.pools))
				}
			})
		})
	}
}

// Who gets no connection until its deadline is told that the time is over, not that Iggy is away; it has written nothing.
func TestNoWriteConnectionInTime(t *testing.T) {
	withPrincipals(t, func(c *Config) { c.MaxWriteConnections = 1 }, []string{"ann", "bob"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		slowly, quickly := topic(t, b, "slowly", 1), topic(t, b, "quickly", 1)
		ann, bob := signIn(t, b, "ann"), signIn(t, b, "bob")
		f.once(iggywire.CodeSendMessages, hang)
		hung := as(ann, batch(b, 1, 1))
		if err := b.Append(slowly, 0, hung); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		late := as(bob, batch(b, 2, 1))
		late.Deadline = time.Now().Add(3 * time.Second)
		began := time.Now()
		_, err := write(t, b, quickly, 0, late)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnavailable) || IsUnknownOutcome(err) {
			t.Errorf("%v", err)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("waited %v", waited)
		}
		// The connection that hangs is given up in the end, and its slot with it.
		if _, err := write(t, b, quickly, 0, as(bob, batch(b, 3, 1))); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if _, err := hung.Wait(t.Context()); err != nil {
			t.Errorf("what hung, and was sent again: %v", err)
		}
		if n := len(f.stored("quickly")); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

// Idle connections give way at once, those of users who have none before those of users who have several; the gateway's own last
// one only when there is no other.
func TestWhoGivesWay(t *testing.T) {
	withPrincipals(t, func(c *Config) { c.MaxWriteConnections = 3 }, []string{"ann", "bob", "cat"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1) // the gateway's own user made it over its connection
		say := func(s *Session) {
			t.Helper()
			began := time.Now()
			if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("it took %v", took)
			}
			synctest.Wait()
			time.Sleep(time.Second)
		}
		ann, bob, cat := signIn(t, b, "ann"), signIn(t, b, "bob"), signIn(t, b, "cat")
		has := func(want ...*Session) {
			t.Helper()
			for name, s := range map[string]*Session{"the gateway": b.self, "ann": ann, "bob": bob, "cat": cat} {
				wanted := 0
				for _, w := range want {
					if w == s {
						wanted++
					}
				}
				s.writes.mu.Lock()
				n := len(s.writes.members)
				s.writes.mu.Unlock()
				if n != wanted {
					t.Errorf("%s has %d connections that write, want %d", name, n, wanted)
				}
			}
		}
		has(b.self)
		say(ann)
		say(bob)
		has(b.self, ann, bob)
		say(ann)
		say(cat) // bob's is idle the longest
		has(b.self, ann, cat)
		say(bob)
		has(b.self, cat, bob)
		time.Sleep(15 * time.Minute)
		has(b.self)
		if n := f.connected("ann"); n != 1 {
			t.Errorf("ann has %d connections after idle minutes", n)
		}
	})
}

// Slots are conserved, whoever gives up waiting when.
func TestSlotsConserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
				defer cancel()
				if err := s.take(ctx); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
				s.release()
			})
		}
		wg.Wait()
		if s.free != 2 || s.spare.Load() != 2 || len(s.waiting) != 0 {
			t.Errorf("%d free, %d waiting", s.free, len(s.waiting))
		}
	})
}
