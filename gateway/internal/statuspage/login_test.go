// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

const rejectionDelay = 250 * time.Millisecond

// directory has the users of a test: each has his name as password.
type directory struct {
	mu      sync.Mutex
	asked   int
	held    int
	takes   time.Duration
	answer  error                          // instead of a user
	allowed error                          // instead of what a user may do
	access  map[string]*permissions.Access // of users who may not do everything
}

func (d *directory) signIn(ctx context.Context, user string, password []byte) (sasl.Principal, error) {
	d.mu.Lock()
	d.asked++
	takes, answer := d.takes, d.answer
	d.mu.Unlock()
	right := user == string(password)
	clear(password)
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case answer != nil:
		return nil, answer
	case !right:
		return nil, sasl.ErrRefused
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held++
	return &member{d, user}, nil
}

func (d *directory) counts() (asked, held int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked, d.held
}

type member struct {
	*directory
	name string
}

func (m *member) Name() string { return m.name }

func (m *member) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held--
}

func (m *member) Access(context.Context) (*permissions.Access, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if access, ok := m.access[m.name]; ok {
		return access, m.allowed
	}
	return permissions.Everything(), m.allowed
}

// guarded is a page that asks who is there.
func guarded(t *testing.T, d *directory) (p *Page, stop func()) {
	t.Helper()
	c := newWorld(time.Now()).config(time.Now)
	stop = d.guard(t, &c)
	return newPage(t, c), stop
}

// guard has the page let in the users of the directory.
func (d *directory) guard(t *testing.T, c *Config) (stop func()) {
	gate := sasl.NewGate(sasl.Config{
		Authenticator: d.signIn, Concurrent: 2, Timeout: 4 * time.Second, RejectionDelay: rejectionDelay, SecretUser: "$token",
	})
	login := NewLogin(gate, slog.New(slog.DiscardHandler))
	c.Login = login
	return func() {
		login.Close()
		gate.Close()
		if _, held := d.counts(); held != 0 {
			t.Errorf("%d users are held when all is over", held)
		}
	}
}

func TestLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{}
		p, stop := guarded(t, d)
		defer stop()
		for _, path := range append(paths(), "/nowhere") {
			w := wantStatus(t, p, http.StatusUnauthorized, path)
			if got := w.Header().Get("WWW-Authenticate"); got != `Basic realm="iggy-kafka", charset="UTF-8"` {
				t.Errorf("%s: %q", path, got)
			}
			for _, known := range []string{"payments", "nightly", "10.1.0.7", `class="pill`, "As of", "127.0.0.1:8090"} {
				if strings.Contains(w.Body.String(), known) {
					t.Errorf("%s: tells somebody of %s", path, known)
				}
			}
		}
		page(t, p, "/topics", as("alice", "alice"), func(r *http.Request) { r.Host = "evil.example" }) // who has a password may call it as he likes
		wantStatus(t, p, http.StatusOK, p.assets.Style)
		if asked, _ := d.counts(); asked != 1 {
			t.Errorf("asked %d times", asked)
		}

		// All refusals come at the same moment, however long the check took.
		for name, edit := range map[string]func(*http.Request){
			"wrong password": as("alice", "x"), "unknown": as("nobody", "y"), "empty": as("", ""), "no password": as("bob", ""), "nul": as("a\x00b", "c\x00d"),
			"not utf-8": as("a\xff", "b"), "too long": as("carl", string(bytes.Repeat([]byte("x"), 300))),
		} {
			begin := time.Now()
			wantStatus(t, p, http.StatusUnauthorized, "/", edit)
			if took := time.Since(begin); took != rejectionDelay {
				t.Errorf("%s: refused after %v", name, took)
			}
		}
		for _, header := range []string{"Basic", "Basic ???", "Bearer x", "basic YQ=="} {
			wantStatus(t, p, http.StatusUnauthorized, "/", func(r *http.Request) { r.Header.Set("Authorization", header) })
		}
	})
}

// A password that was right is not asked for again for a while, and another of the same user is.
func TestLoginIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{takes: 50 * time.Millisecond}
		p, stop := guarded(t, d)
		defer stop()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { page(t, p, "/", as("alice", "alice")) })
		}
		all.Wait()
		if asked, held := d.counts(); asked != 1 || held != 1 {
			t.Errorf("asked %d times, %d held", asked, held)
		}
		wantStatus(t, p, http.StatusUnauthorized, "/", as("alice", "x"))
		time.Sleep(loginLife - time.Second)
		page(t, p, "/", as("alice", "alice"))
		if asked, _ := d.counts(); asked != 2 {
			t.Errorf("asked %d times", asked)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, held := d.counts(); held != 0 {
			t.Errorf("%d held after their time", held)
		}
		page(t, p, "/", as("alice", "alice"))
		if asked, held := d.counts(); asked != 3 || held != 1 {
			t.Errorf("asked %d times, %d held", asked, held)
		}
	})
}

// What is remembered is bounded.
func TestLoginsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{}
		p, stop := guarded(t, d)
		defer stop()
		for _, name := range numbered("user", maxLogins+10) {
			page(t, p, "/", as(name, name))
			time.Sleep(time.Millisecond)
		}
		if _, held := d.counts(); held != maxLogins || len(p.cfg.Login.known) != maxLogins {
			t.Errorf("%d held, %d known", held, len(p.cfg.Login.known))
		}
		page(t, p, "/", as("user-00012", "user-00012"))
		if asked, _ := d.counts(); asked != maxLogins+10 {
			t.Error("not the oldest was dropped")
		}
	})
}

// Who asks for the same login as somebody who has given up meanwhile gets an answer.
func TestLoginGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{takes: time.Second}
		p, stop := guarded(t, d)
		defer stop()
		ctx, leave := context.WithCancel(t.Context())
		go get(p, "/", as("alice", "alice"), func(r *http.Request) { *r = *r.WithContext(ctx) })
		synctest.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			page(t, p, "/", as("alice", "alice"))
		}()
		synctest.Wait()
		leave()
		<-done
	})
}

func TestLoginWhileIggyIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{answer: errors.New("away")}
		p, stop := guarded(t, d)
		defer stop()
		w := wantStatus(t, p, http.StatusServiceUnavailable, "/", as("alice", "alice"))
		if w.Header().Get("WWW-Authenticate") != "" {
			t.Error("asks for a password that nobody can check")
		}
		d.answer = nil
		page(t, p, "/", as("alice", "alice"))
		d.allowed = errors.New("away")
		wantStatus(t, p, http.StatusServiceUnavailable, "/", as("alice", "alice"))
		d.allowed = nil
		page(t, p, "/", as("alice", "alice"))
		if asked, _ := d.counts(); asked != 2 {
			t.Errorf("asked %d times", asked)
		}
		// Iggy lets the user in no more, or only anew: it is asked, once.
		d.allowed = bridge.ErrRefused
		wantStatus(t, p, http.StatusUnauthorized, "/", as("alice", "alice"))
		if asked, _ := d.counts(); asked != 3 {
			t.Errorf("asked %d times", asked)
		}
		// A check that hangs ends with what a page may take.
		d.allowed, d.takes = nil, time.Hour
		begin := time.Now()
		wantStatus(t, p, http.StatusServiceUnavailable, "/", as("bob", "bob"))
		if took := time.Since(begin); took > patience {
			t.Errorf("after %v", took)
		}
	})
}

// No password is to be found in what is remembered, and the same one has another digest in another process.
func TestDigest(t *testing.T) {
	one, other := NewLogin(nil, nil), NewLogin(nil, nil)
	digest := one.digest("a", "b")
	if again := one.digest("a", "b"); again != digest {
		t.Error("a login is not known again")
	}
	if one.digest("a", "bc") == one.digest("ab", "c") {
		t.Error("digests do not tell users and passwords apart")
	}
	if other.digest("a", "b") == digest {
		t.Error("digests have no key")
	}
}

// After the end nobody is let in.
func TestLoginClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := guarded(t, &directory{})
		page(t, p, "/", as("alice", "alice"))
		stop()
		wantStatus(t, p, http.StatusServiceUnavailable, "/", as("alice", "alice"))
	})
}
