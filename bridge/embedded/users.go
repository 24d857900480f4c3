// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

// userByID returns the user, or nil. The catalogue's mutex is held.
func (c *catalog) userByID(id iggywire.Identifier) *user {
	if name, named := id.Name(); named {
		return c.userNames[name]
	}
	number, _ := id.Number()
	return c.users.get(number)
}

func (u *user) describe() iggywire.UserDetails {
	return iggywire.UserDetails{
		User:        iggywire.User{ID: u.id, CreatedAt: u.createdAt, Status: u.status, Username: u.name},
		Permissions: u.permissions,
	}
}

func (s *session) getUsers(dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !s.me().everywhere().readUsers() {
		return dst, iggywire.StatusUnauthorized
	}
	for _, u := range c.users.all {
		dst = u.describe().User.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

// getUser shows everybody to those who may read users, and a user itself.
func (s *session) getUser(req iggywire.GetUser, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	me, u := s.me(), c.userByID(req.User)
	switch {
	case u == nil:
		return dst, iggywire.StatusOK
	case u != me && !me.everywhere().readUsers():
		return dst, iggywire.StatusUnauthorized
	}
	return u.describe().AppendTo(dst), iggywire.StatusOK
}

func (s *session) createUser(req iggywire.CreateUser, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	if status := s.mayManageUsers(); status != iggywire.StatusOK {
		return dst, status
	}
	switch {
	case !validUsername(req.Username):
		return dst, iggywire.StatusInvalidUsername
	case !validPassword(req.Password):
		return dst, iggywire.StatusInvalidPassword
	case !validUserStatus(req.Status):
		return dst, iggywire.StatusInvalidCommand
	}
	hashed := newPassword(req.Password, passwordRounds) // slow: before the mutex
	status := s.server.change(func() (edit, iggywire.Status) {
		if c.userNames[req.Username] != nil {
			return edit{}, iggywire.StatusUserExists
		}
		u := &user{
			id: c.users.next(), createdAt: s.server.now(), name: req.Username, status: req.Status,
			password: hashed, permissions: sorted(req.Permissions), tokens: make(map[string]*token),
		}
		c.users.add(u)
		c.userNames[u.name] = u
		dst = u.describe().AppendTo(dst)
		return edit{records: userRecords(u)}, iggywire.StatusOK
	})
	return dst, status
}

func (s *session) mayManageUsers() iggywire.Status {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	return need(s.me().everywhere().manageUsers())
}

func validUserStatus(status uint8) bool {
	return status == iggywire.UserActive || status == iggywire.UserInactive
}

// changeUser carries out a change of one user by somebody who manages users.
func (s *session) changeUser(id iggywire.Identifier, do func(*user) (edit, iggywire.Status)) iggywire.Status {
	c := &s.server.catalog
	return s.server.change(func() (edit, iggywire.Status) {
		if !s.me().everywhere().manageUsers() {
			return edit{}, iggywire.StatusUnauthorized
		}
		u := c.userByID(id)
		if u == nil {
			return edit{}, iggywire.StatusResourceNotFound
		}
		return do(u)
	})
}

func (s *session) deleteUser(req iggywire.DeleteUser, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	return dst, s.changeUser(req.User, func(u *user) (edit, iggywire.Status) {
		if u.id == rootID {
			return edit{}, iggywire.StatusCannotDeleteUser
		}
		e := edit{records: []record{{key: userKey(u)}}}
		for _, t := range u.tokens {
			delete(c.tokens, t.hash)
			e.records = append(e.records, record{key: tokenKey(t)})
		}
		c.users.remove(u.id)
		delete(c.userNames, u.name)
		u.gone.Store(true)
		return e, iggywire.StatusOK
	})
}

func (s *session) updateUser(req iggywire.UpdateUser, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	return dst, s.changeUser(req.User, func(u *user) (edit, iggywire.Status) {
		other := c.userNames[req.Username]
		switch {
		case req.Username != "" && !validUsername(req.Username):
			return edit{}, iggywire.StatusInvalidUsername
		case req.Status != 0 && !validUserStatus(req.Status):
			return edit{}, iggywire.StatusInvalidCommand
		case other != nil && other != u:
			return edit{}, iggywire.StatusUserExists
		}
		if req.Username != "" {
			delete(c.userNames, u.name)
			u.name = req.Username
			c.userNames[u.name] = u
		}
		if req.Status != 0 {
			u.status = req.Status
		}
		return edit{records: userRecords(u)}, iggywire.StatusOK
	})
}

func (s *session) updatePermissions(req iggywire.UpdatePermissions, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeUser(req.User, func(u *user) (edit, iggywire.Status) {
		if u.id == rootID {
			return edit{}, iggywire.StatusCannotChangePermissions
		}
		u.permissions = sorted(req.Permissions)
		return edit{records: userRecords(u)}, iggywire.StatusOK
	})
}

// changePassword needs the current password even of those who manage users.
func (s *session) changePassword(req iggywire.ChangePassword, dst []byte) ([]byte, iggywire.Status) {
	if !validPassword(req.Current) || !validPassword(req.New) {
		return dst, iggywire.StatusInvalidPassword
	}
	c := &s.server.catalog
	c.mu.RLock()
	me, u := s.me(), c.userByID(req.User)
	var current password
	status := iggywire.StatusResourceNotFound
	if u != nil {
		current, status = u.password, need(u == me || me.everywhere().manageUsers())
	}
	c.mu.RUnlock()
	switch {
	case status != iggywire.StatusOK:
		return dst, status
	case !current.matches(req.Current):
		return dst, iggywire.StatusInvalidCredentials
	}
	hashed := newPassword(req.New, passwordRounds)
	return dst, s.server.change(func() (edit, iggywire.Status) {
		if u.gone.Load() {
			return edit{}, iggywire.StatusResourceNotFound
		}
		u.password = hashed
		return edit{records: userRecords(u)}, iggywire.StatusOK
	})
}
