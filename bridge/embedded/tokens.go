// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// maxTokens bounds the tokens of one user, as the real server's default does.
const maxTokens = 100

// token is a personal access token. The token itself is not kept.
type token struct {
	owner     *user
	name      string
	hash      [sha256.Size]byte
	expiresAt uint64 // µs since 1970; 0: never
}

func (t *token) expired(now uint64) bool { return t.expiresAt != 0 && t.expiresAt <= now }

// loginWithToken logs the session in like login, and is cheap.
func (s *session) loginWithToken(body, dst []byte) ([]byte, iggywire.Status) {
	req, err := iggywire.ParseLoginWithToken(body)
	if err != nil {
		return dst, iggywire.RequestStatus(err)
	}
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t := c.tokens[sha256.Sum256([]byte(req.Token))]
	switch {
	case t == nil:
		return dst, iggywire.StatusResourceNotFound
	case t.expired(s.server.now()):
		return dst, iggywire.StatusTokenExpired
	case t.owner.status != iggywire.UserActive:
		return dst, iggywire.StatusUserInactive
	}
	return s.become(t.owner, dst)
}

func (s *session) createToken(req iggywire.CreateToken, dst []byte) ([]byte, iggywire.Status) {
	if len(req.Name) < 3 || len(req.Name) > 30 {
		return dst, iggywire.StatusInvalidTokenName
	}
	var secret [50]byte
	rand.Read(secret[:]) // never fails: it ends the process instead
	text := base64.StdEncoding.EncodeToString(secret[:])
	c := &s.server.catalog
	status := s.server.change(func() (edit, iggywire.Status) {
		u := s.me()
		switch {
		case u.gone.Load():
			return edit{}, iggywire.StatusUnauthenticated
		case len(u.tokens) >= maxTokens:
			return edit{}, iggywire.StatusTokensLimitReached
		case u.tokens[req.Name] != nil:
			return edit{}, iggywire.StatusTokenExists
		}
		t := &token{owner: u, name: req.Name, hash: sha256.Sum256([]byte(text))}
		if req.Expiry != iggywire.ServerDefault && req.Expiry != iggywire.NeverExpire {
			t.expiresAt = s.server.now() + req.Expiry
		}
		u.tokens[t.name] = t
		c.tokens[t.hash] = t
		return edit{records: []record{tokenRecord(t)}}, iggywire.StatusOK
	})
	return iggywire.RawToken{Token: text}.AppendTo(dst), status
}

func (s *session) getTokens(dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	tokens := s.me().tokens
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		dst = iggywire.Token{Name: name, ExpiresAt: tokens[name].expiresAt}.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) deleteToken(req iggywire.DeleteToken, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	return dst, s.server.change(func() (edit, iggywire.Status) {
		u := s.me()
		t := u.tokens[req.Name]
		if t == nil {
			return edit{}, iggywire.StatusResourceNotFound
		}
		delete(u.tokens, t.name)
		delete(c.tokens, t.hash)
		return edit{records: []record{{key: tokenKey(t)}}}, iggywire.StatusOK
	})
}
