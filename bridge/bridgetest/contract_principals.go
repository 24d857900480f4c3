// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

const (
	// manyUsers share fewerWriters connections that write. Over TLS, where their frames cannot be seen, fewUsers do.
	manyUsers    = 50
	fewUsers     = 6
	fewerWriters = 20
	// userRounds is what each of them writes to each topic.
	userRounds = 4
	// markedPoll and above are the counts by which the users' polls are known on the wire.
	markedPoll = 1000
)

// townsman is one of the users of the test.
type townsman struct {
	name    string
	number  uint32 // Iggy's
	session *bridge.Session
}

// town is users that may poll two topics, all of them send to the first, and every other one to the second.
type town struct {
	admin    *client
	stream   uint32
	topics   [2]*bridge.Topic
	users    []*townsman
	password string
}

func (tw *town) maySend(user, topic int) bool { return topic == 0 || user%2 == 0 }

func (tw *town) permissions(user int, send bool) *iggywire.Permissions {
	in := iggywire.StreamPermissions{Stream: tw.stream}
	for i, t := range tw.topics {
		_, number := t.Numbers()
		in.Topics = append(in.Topics, iggywire.TopicPermissions{
			Topic: number, PollMessages: true, SendMessages: send && tw.maySend(user, i),
		})
	}
	if in.Topics[0].Topic > in.Topics[1].Topic {
		in.Topics[0], in.Topics[1] = in.Topics[1], in.Topics[0]
	}
	return &iggywire.Permissions{Streams: []iggywire.StreamPermissions{in}}
}

func (s *suite) newTown(t *testing.T, b *bridge.Bridge, users int) *town {
	t.Helper()
	tw := &town{topics: [2]*bridge.Topic{topic(t, b, 3), topic(t, b, 3)}, password: "a town's password"}
	tw.stream, _ = tw.topics[0].Numbers()
	p, err := dial(t.Context(), &s.config)
	if err != nil {
		t.Fatal(err)
	}
	tw.admin = &client{t, &world{}, p}
	tw.admin.must(iggywire.LoginUser{Username: s.config.Username, Password: s.config.Password})
	t.Cleanup(func() {
		for _, u := range tw.users {
			if status, _, err := p.ask(iggywire.DeleteUser{User: iggywire.NamedID(u.name)}); err != nil ||
				status != iggywire.StatusOK && status != iggywire.StatusResourceNotFound {
				t.Errorf("delete user: %v, %v", status, err)
			}
		}
		p.close()
	})
	prefix := fmt.Sprintf("town-%08x-", rand.Uint32())
	for i := range users {
		u := &townsman{name: fmt.Sprintf("%s%d", prefix, i)}
		u.number = find(tw.admin, iggywire.CreateUser{
			Username: u.name, Password: tw.password, Status: iggywire.UserActive, Permissions: tw.permissions(i, true),
		}, iggywire.ParseUserDetails).ID
		tw.users = append(tw.users, u)
	}
	return tw
}

// signIn opens the sessions of all users.
func (tw *town) signIn(t *testing.T, b *bridge.Bridge) {
	t.Helper()
	var wg sync.WaitGroup
	for _, u := range tw.users {
		wg.Go(func() {
			l, err := b.SignIn(t.Context(), u.name, []byte(tw.password))
			if err != nil {
				t.Errorf("%s: %v", u.name, err)
				return
			}
			if l.User().ID != u.number || l.User().Username != u.name {
				t.Errorf("%s signed in as %+v", u.name, l.User())
			}
			if u.session, err = b.NewSession(l); err != nil {
				t.Error(err)
				return
			}
			if err := u.session.Join(t.Context(), l); err != nil {
				t.Errorf("%s: %v", u.name, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// send appends one message that says who it is from.
func (tw *town) send(ctx context.Context, b *bridge.Bridge, user, topic, n int) error {
	payload := func(int) []byte { return fmt.Appendf(nil, "from %d: number %d", user, n) }
	a := &bridge.Append{
		Session: tw.users[user].session, Messages: messages(1, payload), Count: 1, Deadline: time.Now().Add(patience),
	}
	if err := b.Append(tw.topics[topic], int32(n)%3, a); err != nil {
		return err
	}
	_, err := a.Wait(ctx)
	return err
}

// register notes, from what passes a Proxy, who the server says has signed in on each connection, and what else it saw there.
type register struct {
	mu     sync.Mutex
	logins map[string][]uint32         // by connection: Iggy's numbers of users
	spoken map[string]map[int]struct{} // by connection: users of the town in whose name something was asked
	sends  int
	polls  int
}

func newRegister() *register {
	return &register{logins: map[string][]uint32{}, spoken: map[string]map[int]struct{}{}}
}

func (r *register) see(f Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case f.Answer && (f.Code == iggywire.CodeLoginUser || f.Code == iggywire.CodeLoginWithToken):
		if id, err := iggywire.ParseIdentity(f.Body); err == nil {
			r.logins[f.Conn] = append(r.logins[f.Conn], id.UserID)
		}
	case !f.Answer && f.Code == iggywire.CodeSendMessages:
		req, _ := iggywire.ParseSend(f.Body)
		for rest := req.Messages; len(rest) > 0; {
			m, n, err := mapping.ParseMessage(rest)
			if err != nil {
				return
			}
			rest = rest[n:]
			var user, number int
			if _, err := fmt.Sscanf(string(m.Payload), "from %d: number %d", &user, &number); err == nil {
				r.sends++
				r.speak(f.Conn, user)
			}
		}
	case !f.Answer && f.Code == iggywire.CodePollMessages:
		if req, err := iggywire.ParsePoll(f.Body); err == nil && req.Count >= markedPoll {
			r.polls++
			r.speak(f.Conn, int(req.Count-markedPoll))
		}
	}
}

func (r *register) speak(conn string, user int) {
	if r.spoken[conn] == nil {
		r.spoken[conn] = map[int]struct{}{}
	}
	r.spoken[conn][user] = struct{}{}
}

// check: nothing was asked in a user's name but on a connection on which the server let that user in, and nobody else.
func (r *register) check(t *testing.T, tw *town) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	served := map[int]struct{}{}
	for conn, users := range r.spoken {
		for user := range users {
			served[user] = struct{}{}
			if ids := r.logins[conn]; len(ids) != 1 || ids[0] != tw.users[user].number {
				t.Errorf("connection %s spoke for user %d, who is %d; signed in on it: %v", conn, user, tw.users[user].number, ids)
			}
		}
	}
	if len(served) != manyUsers {
		t.Errorf("%d of %d users were seen", len(served), manyUsers)
	}
	if want := 2 * userRounds * manyUsers; r.sends != want || r.polls != want {
		t.Errorf("%d messages and %d polls were seen, want %d each", r.sends, r.polls, want)
	}
}

// principals: many users work on the same topics at the same time. Each connection to Iggy is one user's, as the server itself sees
// it, and each user may do what Iggy allows that user.
func (s *suite) principals(t *testing.T, b *bridge.Bridge) {
	visible := s.config.TLS == nil // or the frames are not
	users := manyUsers
	if !visible {
		users = fewUsers
	}
	tw := s.newTown(t, b, users)
	through := s.config
	through.MaxWriteConnections = fewerWriters
	through.TokenPrefix = "bridgetest"
	seen := newRegister()
	if visible {
		proxy, err := StartProxy(s.config.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		proxy.Watch(seen.see)
		through.Addr = proxy.Addr()
	}
	b, err := bridge.Open(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		b.Close(ctx)
	}()
	tw.signIn(t, b)
	tw.work(t, b)
	if visible {
		seen.check(t, tw)
		tw.checkClients(t, seen)
	}
	for i, top := range tw.topics {
		want := 0
		for user := range tw.users {
			if tw.maySend(user, i) {
				want += userRounds
			}
		}
		got := 0
		for p := range top.Partitions {
			for _, payload := range payloads(t, b, top, p) {
				var user, number int
				if _, err := fmt.Sscanf(payload, "from %d: number %d", &user, &number); err != nil || !tw.maySend(user, i) {
					t.Errorf("topic %d holds %q, %v", i, payload, err)
				}
				got++
			}
		}
		if got != want {
			t.Errorf("topic %d holds %d messages, want %d", i, got, want)
		}
	}
	tw.takeAway(t, b)
	tw.tokens(t, s, b)
}

// work: all users write and read at once.
func (tw *town) work(t *testing.T, b *bridge.Bridge) {
	t.Helper()
	var wg sync.WaitGroup
	for user, u := range tw.users {
		wg.Go(func() {
			for n := range userRounds {
				for i, top := range tw.topics {
					if err := tw.send(t.Context(), b, user, i, n); tw.maySend(user, i) && err != nil || !tw.maySend(user, i) && !bridge.IsUnauthorized(err) {
						t.Errorf("user %d, topic %d: %v", user, i, err)
					}
					m, err := b.Read(t.Context(), u.session, top, int32(n)%3, 0, markedPoll+user)
					if err != nil {
						t.Errorf("user %d, topic %d: %v", user, i, err)
						continue
					}
					m.Release()
				}
			}
		})
	}
	wg.Wait()
}

// checkClients: of the connections that are open now the server's own list says the same.
func (tw *town) checkClients(t *testing.T, seen *register) {
	t.Helper()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	open := 0
	for _, c := range get(tw.admin, iggywire.Bare(iggywire.CodeGetClients), iggywire.ParseClients) {
		if c.UserID == iggywire.NoUser { // it has signed out to make room
			continue
		}
		for user := range seen.spoken[c.Address] {
			open++
			if c.UserID != tw.users[user].number {
				t.Errorf("connection %s spoke for user %d, who is %d; iggy lists it as %d's", c.Address, user, tw.users[user].number, c.UserID)
			}
		}
	}
	if open < manyUsers {
		t.Errorf("iggy lists %d connections that spoke for the users", open)
	}
}

// takeAway: what Iggy takes away from a user it takes away from that user alone, at once.
func (tw *town) takeAway(t *testing.T, b *bridge.Bridge) {
	t.Helper()
	const poor, gone, other = 0, 2, 4
	tw.admin.must(iggywire.UpdatePermissions{User: iggywire.NumericID(tw.users[poor].number), Permissions: tw.permissions(poor, false)})
	tw.admin.must(iggywire.DeleteUser{User: iggywire.NumericID(tw.users[gone].number)})
	if err := tw.send(t.Context(), b, poor, 0, 0); !bridge.IsUnauthorized(err) {
		t.Errorf("without the permission: %v", err)
	}
	if err := tw.send(t.Context(), b, gone, 0, 0); err == nil || bridge.IsLoginFailed(err) && !errors.Is(err, bridge.ErrUnavailable) {
		t.Errorf("as a user that was deleted: %v", err)
	}
	if err := tw.send(t.Context(), b, other, 0, 0); err != nil {
		t.Errorf("as somebody else: %v", err)
	}
	deadline := time.Now().Add(patience)
	for {
		_, err := tw.users[gone].session.User(t.Context())
		if errors.Is(err, bridge.ErrRefused) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a user that was deleted: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tokens: there is one for a user while its session is open, and none afterwards.
func (tw *town) tokens(t *testing.T, s *suite, b *bridge.Bridge) {
	t.Helper()
	u := tw.users[5]
	p, err := dial(t.Context(), &s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c := &client{t, &world{}, p}
	c.must(iggywire.LoginUser{Username: u.name, Password: tw.password})
	list := func() (names []string) {
		for _, token := range get(c, iggywire.Bare(iggywire.CodeGetTokens), iggywire.ParseTokens) {
			names = append(names, token.Name)
		}
		return names
	}
	if names := list(); len(names) != 1 || !strings.HasPrefix(names[0], "bridgetest-") {
		t.Errorf("tokens: %q", names)
	}
	u.session.Close(t.Context())
	if names := list(); len(names) != 0 {
		t.Errorf("tokens afterwards: %q", names)
	}
}
