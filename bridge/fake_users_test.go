// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// fakeUsers makes a fakeIggy tell its users apart. The fake's mu guards it.
type fakeUsers struct {
	byName map[string]*fakeUser
	on     map[net.Conn]*fakeUser // who has signed in on each connection
	nextID uint32
}

type fakeUser struct {
	id       uint32
	created  uint64
	name     string
	password string
	inactive bool
	gone     bool
	tokens   map[string]fakeToken // by name
	denied   map[iggywire.Code]bool
	did      map[iggywire.Code]int // what succeeded
	noTokens iggywire.Status       // the answer to who wants one; 0: it gets one
}

type fakeToken struct {
	secret  string
	expires time.Time
}

// withUsers makes the fake know the gateway's own user and nobody else.
func (f *fakeIggy) withUsers() *fakeUsers {
	f.users = &fakeUsers{byName: map[string]*fakeUser{}, on: map[net.Conn]*fakeUser{}}
	f.addUser("iggy")
	return f.users
}

// addUser makes a user whose password is "password of" and the name, but of the gateway's own.
func (f *fakeIggy) addUser(name string) *fakeUser {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := &fakeUser{
		id: f.users.nextID, created: f.now(), name: name, password: "password of " + name,
		tokens: map[string]fakeToken{}, denied: map[iggywire.Code]bool{}, did: map[iggywire.Code]int{},
	}
	if name == "iggy" {
		u.password = "iggy"
	}
	f.users.nextID++
	f.users.byName[name] = u
	return u
}

func (f *fakeIggy) executeFor(c net.Conn, code iggywire.Code, body []byte) (iggywire.Status, []byte) {
	if f.users == nil {
		return f.execute(code, body)
	}
	status, out := f.users.execute(f, c, code, body)
	if u := f.users.on[c]; u != nil && status == iggywire.StatusOK {
		u.did[code]++
	}
	return status, out
}

func (us *fakeUsers) execute(f *fakeIggy, c net.Conn, code iggywire.Code, body []byte) (iggywire.Status, []byte) {
	switch code {
	case iggywire.CodeLoginUser:
		req, _ := iggywire.ParseLoginUser(body)
		u := us.byName[req.Username]
		switch {
		case u == nil:
			return iggywire.StatusResourceNotFound, nil
		case u.inactive:
			return iggywire.StatusUserInactive, nil
		case u.password != req.Password:
			return iggywire.StatusInvalidCredentials, nil
		}
		return us.become(c, u)
	case iggywire.CodeLoginWithToken:
		req, _ := iggywire.ParseLoginWithToken(body)
		return us.loginWithToken(c, req.Token)
	}
	u := us.on[c]
	switch {
	case u == nil || u.gone:
		return iggywire.StatusUnauthenticated, nil
	case u.denied[code]:
		return iggywire.StatusUnauthorized, nil
	}
	switch code {
	case iggywire.CodeGetUser:
		return us.getUser(body)
	case iggywire.CodeGetTokens:
		var out []byte
		for name, t := range u.tokens {
			out = iggywire.Token{Name: name, ExpiresAt: uint64(t.expires.UnixMicro())}.AppendTo(out)
		}
		return iggywire.StatusOK, out
	case iggywire.CodeCreateToken:
		req, _ := iggywire.ParseCreateToken(body)
		switch _, taken := u.tokens[req.Name]; {
		case u.noTokens != 0:
			return u.noTokens, nil
		case taken:
			return iggywire.StatusTokenExists, nil
		}
		secret := fmt.Sprintf("token %d of %s", f.id(), u.name)
		u.tokens[req.Name] = fakeToken{secret, time.Now().Add(time.Duration(req.Expiry) * time.Microsecond)}
		return iggywire.StatusOK, iggywire.RawToken{Token: secret}.AppendTo(nil)
	case iggywire.CodeDeleteToken:
		req, _ := iggywire.ParseDeleteToken(body)
		if _, ok := u.tokens[req.Name]; !ok {
			return iggywire.StatusResourceNotFound, nil
		}
		delete(u.tokens, req.Name)
		return iggywire.StatusOK, nil
	}
	return f.execute(code, body)
}

func (us *fakeUsers) become(c net.Conn, u *fakeUser) (iggywire.Status, []byte) {
	us.on[c] = u
	return iggywire.StatusOK, iggywire.Identity{UserID: u.id}.AppendTo(nil)
}

func (us *fakeUsers) loginWithToken(c net.Conn, secret string) (iggywire.Status, []byte) {
	for _, u := range us.byName {
		for _, t := range u.tokens {
			switch {
			case t.secret != secret:
				continue
			case !time.Now().Before(t.expires):
				return iggywire.StatusTokenExpired, nil
			case u.inactive:
				return iggywire.StatusUserInactive, nil
			}
			return us.become(c, u)
		}
	}
	return iggywire.StatusResourceNotFound, nil
}

func (us *fakeUsers) getUser(body []byte) (iggywire.Status, []byte) {
	req, _ := iggywire.ParseGetUser(body)
	number, numbered := req.User.Number()
	name, _ := req.User.Name()
	for _, u := range us.byName {
		if numbered && u.id == number || !numbered && u.name == name {
			status := uint8(iggywire.UserActive)
			if u.inactive {
				status = iggywire.UserInactive
			}
			user := iggywire.User{ID: u.id, CreatedAt: u.created, Status: status, Username: u.name}
			return iggywire.StatusOK, iggywire.UserDetails{User: user}.AppendTo(nil)
		}
	}
	return iggywire.StatusOK, nil
}

// connected is on how many connections the user is signed in.
func (f *fakeIggy) connected(name string) (n int) {
	synctest.Wait() // those that are just closed
	f.with(func() {
		for _, u := range f.users.on {
			if u.name == name {
				n++
			}
		}
	})
	return n
}

// did is how often a user has succeeded with a command.
func (f *fakeIggy) did(name string, code iggywire.Code) (n int) {
	f.with(func() { n = f.users.byName[name].did[code] })
	return n
}

// tokensOf are the names of a user's tokens.
func (f *fakeIggy) tokensOf(name string) (names []string) {
	f.with(func() {
		for token := range f.users.byName[name].tokens {
			names = append(names, token)
		}
	})
	slices.Sort(names)
	return names
}

// cutOff closes all connections of a user.
func (f *fakeIggy) cutOff(name string) {
	f.with(func() {
		for c, u := range f.users.on {
			if u.name == name {
				_ = c.Close()
			}
		}
	})
	synctest.Wait()
}

// withPrincipals runs a test with a fake that knows some users beside the gateway's own.
func withPrincipals(t *testing.T, change func(*Config), names []string, run func(t *testing.T, f *fakeIggy, b *Bridge)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeIggy(t)
		f.withUsers()
		for _, name := range names {
			f.addUser(name)
		}
		run(t, f, f.open(t, change))
	})
}

// signIn opens the session of a user.
func signIn(t *testing.T, b *Bridge, name string) *Session {
	t.Helper()
	l, err := b.SignIn(t.Context(), name, []byte("password of "+name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewSession(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return s
}

// join lets one more client of the session's user sign in.
func join(t *testing.T, b *Bridge, s *Session, name string) {
	t.Helper()
	l, err := b.SignIn(t.Context(), name, []byte("password of "+name))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

// as makes a batch its user's.
func as(s *Session, a *Append) *Append {
	a.Session = s
	return a
}
