// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/subtle"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// user is who a session is logged in as.
type user struct {
	id   uint32
	name string
}

// rootID is the number of the root user, the only one there is.
const rootID = 0

func validUsername(s string) bool { return len(s) >= 3 && len(s) <= 50 }

func validPassword(s string) bool { return len(s) >= 3 && len(s) <= 100 }

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
	cfg := &s.server.cfg
	name := subtle.ConstantTimeCompare([]byte(req.Username), []byte(cfg.Username))
	password := subtle.ConstantTimeCompare([]byte(req.Password), []byte(cfg.Password))
	if name&password != 1 {
		return dst, iggywire.StatusInvalidCredentials
	}
	s.user.Store(&user{id: rootID, name: cfg.Username})
	return iggywire.Identity{UserID: rootID}.AppendTo(dst), iggywire.StatusOK
}

func (s *session) logout(dst []byte) ([]byte, iggywire.Status) {
	s.user.Store(nil)
	return dst, iggywire.StatusOK
}
