// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// rootID is the number of the root user.
const rootID = 0

// user is somebody who can log in. id and createdAt never change; the rest but
// gone is guarded by the catalogue's mutex.
type user struct {
	id          uint32
	createdAt   uint64
	name        string
	status      uint8
	password    password
	permissions *iggywire.Permissions // not changed, only replaced; nil: none
	tokens      map[string]*token     // by name

	gone atomic.Bool // deleted: its sessions are logged out
}

func validUsername(s string) bool { return len(s) >= 3 && len(s) <= 50 }

func validPassword(s string) bool { return len(s) >= 3 && len(s) <= 100 }

// password is what is kept of a password.
type password struct {
	Salt, Hash []byte
	Rounds     int
}

func newPassword(text string, rounds int) password {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails: it ends the process instead
	return password{Salt: salt, Hash: passwordHash(text, salt, rounds), Rounds: rounds}
}

func passwordHash(text string, salt []byte, rounds int) []byte {
	hash, err := pbkdf2.Key(sha256.New, text, salt, rounds, sha256.Size)
	if err != nil {
		panic("embedded: " + err.Error()) // only for a key length that SHA-256 cannot give, or FIPS mode and our own constants
	}
	return hash
}

func (p password) matches(text string) bool {
	return subtle.ConstantTimeCompare(p.Hash, passwordHash(text, p.Salt, p.Rounds)) == 1
}

// loggedIn returns the session's user, or nil.
func (s *session) loggedIn() *user {
	if u := s.user.Load(); u != nil && !u.gone.Load() {
		return u
	}
	return nil
}

// me is the session's user within a request that needs a login. It may have been
// deleted since.
func (s *session) me() *user { return s.user.Load() }

// login logs the session in, also one that is logged in already. A failure
// leaves it as it was.
func (s *session) login(body, dst []byte) ([]byte, iggywire.Status) {
	req, err := iggywire.ParseLoginUser(body)
	switch {
	case err != nil:
		return dst, iggywire.RequestStatus(err)
	case !validUsername(req.Username):
		return dst, iggywire.StatusInvalidUsername
	case !validPassword(req.Password):
		return dst, iggywire.StatusInvalidPassword
	}
	u, known, status := s.server.account(req.Username)
	if status != iggywire.StatusOK {
		return dst, status
	}
	if !known.matches(req.Password) {
		return dst, iggywire.StatusInvalidCredentials
	}
	return s.become(u, dst)
}

// account returns a user that may log in, and its password: checking that takes
// too long for the catalogue's mutex.
func (s *Server) account(name string) (*user, password, iggywire.Status) {
	c := &s.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	u := c.userNames[name]
	switch {
	case u == nil:
		return nil, password{}, iggywire.StatusInvalidCredentials
	case u.status != iggywire.UserActive:
		return nil, password{}, iggywire.StatusUserInactive
	}
	return u, u.password, iggywire.StatusOK
}

func (s *session) become(u *user, dst []byte) ([]byte, iggywire.Status) {
	s.user.Store(u)
	return iggywire.Identity{UserID: u.id}.AppendTo(dst), iggywire.StatusOK
}

func (s *session) logout(dst []byte) ([]byte, iggywire.Status) {
	s.user.Store(nil)
	return dst, iggywire.StatusOK
}
