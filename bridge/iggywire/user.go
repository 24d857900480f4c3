// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// The states of a user.
const (
	UserActive   = 1
	UserInactive = 2
)

// CreateUser creates a user; the answer is its [UserDetails].
//
//	user name string8 | password string8 | status u8 | permissions
type CreateUser struct {
	Username, Password string // 3 to 50 and 3 to 100 bytes
	Status             uint8  // [UserActive] or [UserInactive]
	Permissions        *Permissions
}

// Code returns [CodeCreateUser].
func (CreateUser) Code() Code { return CodeCreateUser }

// AppendTo appends the body.
func (c CreateUser) AppendTo(dst []byte) []byte {
	dst = appendString8(dst, c.Username)
	dst = appendString8(dst, c.Password)
	return appendOptionalPermissions(append(dst, c.Status), c.Permissions)
}

// ParseCreateUser reads the body of a [CreateUser].
func ParseCreateUser(b []byte) (CreateUser, error) {
	r := reader{b: b}
	c := CreateUser{
		Username:    r.string8(),
		Password:    r.string8(),
		Status:      r.u8(),
		Permissions: r.optionalPermissions(),
	}
	return c, r.end("create user")
}

// GetUser asks for one user's [UserDetails].
type GetUser struct{ User Identifier }

// Code returns [CodeGetUser].
func (GetUser) Code() Code { return CodeGetUser }

// AppendTo appends the body.
func (g GetUser) AppendTo(dst []byte) []byte { return AppendIdentifier(dst, g.User) }

// ParseGetUser reads the body of a [GetUser].
func ParseGetUser(b []byte) (GetUser, error) {
	r := reader{b: b}
	g := GetUser{User: r.identifier()}
	return g, r.end("get user")
}

// DeleteUser deletes a user; the root user cannot be deleted.
type DeleteUser struct{ User Identifier }

// Code returns [CodeDeleteUser].
func (DeleteUser) Code() Code { return CodeDeleteUser }

// AppendTo appends the body.
func (d DeleteUser) AppendTo(dst []byte) []byte { return AppendIdentifier(dst, d.User) }

// ParseDeleteUser reads the body of a [DeleteUser].
func ParseDeleteUser(b []byte) (DeleteUser, error) {
	r := reader{b: b}
	d := DeleteUser{User: r.identifier()}
	return d, r.end("delete user")
}

// UpdateUser renames a user or changes its state.
//
//	user | has name u8 | name string8 | has status u8 | status u8
type UpdateUser struct {
	User     Identifier
	Username string // empty: as it was
	Status   uint8  // 0: as it was
}

// Code returns [CodeUpdateUser].
func (UpdateUser) Code() Code { return CodeUpdateUser }

// AppendTo appends the body.
func (u UpdateUser) AppendTo(dst []byte) []byte {
	dst = AppendIdentifier(dst, u.User)
	dst = appendBool(dst, u.Username != "")
	if u.Username != "" {
		dst = appendString8(dst, u.Username)
	}
	dst = appendBool(dst, u.Status != 0)
	if u.Status != 0 {
		dst = append(dst, u.Status)
	}
	return dst
}

// ParseUpdateUser reads the body of an [UpdateUser].
func ParseUpdateUser(b []byte) (UpdateUser, error) {
	r := reader{b: b}
	u := UpdateUser{User: r.identifier()}
	if r.bool() {
		u.Username = r.string8()
	}
	if r.bool() {
		u.Status = r.u8()
	}
	return u, r.end("update user")
}

// UpdatePermissions replaces a user's permissions; nil takes them all away.
type UpdatePermissions struct {
	User        Identifier
	Permissions *Permissions
}

// Code returns [CodeUpdatePermissions].
func (UpdatePermissions) Code() Code { return CodeUpdatePermissions }

// AppendTo appends the body.
func (u UpdatePermissions) AppendTo(dst []byte) []byte {
	return appendOptionalPermissions(AppendIdentifier(dst, u.User), u.Permissions)
}

// ParseUpdatePermissions reads the body of an [UpdatePermissions].
func ParseUpdatePermissions(b []byte) (UpdatePermissions, error) {
	r := reader{b: b}
	u := UpdatePermissions{User: r.identifier(), Permissions: r.optionalPermissions()}
	return u, r.end("update permissions")
}

// ChangePassword changes a user's password.
type ChangePassword struct {
	User         Identifier
	Current, New string
}

// Code returns [CodeChangePassword].
func (ChangePassword) Code() Code { return CodeChangePassword }

// AppendTo appends the body.
func (c ChangePassword) AppendTo(dst []byte) []byte {
	return appendString8(appendString8(AppendIdentifier(dst, c.User), c.Current), c.New)
}

// ParseChangePassword reads the body of a [ChangePassword].
func ParseChangePassword(b []byte) (ChangePassword, error) {
	r := reader{b: b}
	c := ChangePassword{User: r.identifier(), Current: r.string8(), New: r.string8()}
	return c, r.end("change password")
}

// User describes a user.
//
//	id u32 | created at u64 | status u8 | user name string8
type User struct {
	ID        uint32
	CreatedAt uint64 // µs since 1970
	Status    uint8
	Username  string
}

// AppendTo appends the user as one element of the answer to [CodeGetUsers].
func (u User) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, u.ID)
	dst = binary.LittleEndian.AppendUint64(dst, u.CreatedAt)
	return appendString8(append(dst, u.Status), u.Username)
}

func (r *reader) user() User {
	return User{ID: r.u32(), CreatedAt: r.u64(), Status: r.u8(), Username: r.name()}
}

// ParseUsers reads the answer to [CodeGetUsers].
func ParseUsers(b []byte) ([]User, error) { return parseList(b, "users", (*reader).user) }

// UserDetails is a user with its permissions. Behind a user without any the real
// server writes four zero bytes, where the flag alone would do.
type UserDetails struct {
	User
	Permissions *Permissions
}

// AppendTo appends the answer to [GetUser] or [CreateUser].
func (u UserDetails) AppendTo(dst []byte) []byte {
	dst = appendOptionalPermissions(u.User.AppendTo(dst), u.Permissions)
	if u.Permissions == nil {
		dst = append(dst, 0, 0, 0)
	}
	return dst
}

// ParseUserDetails reads the answer to [GetUser] or [CreateUser]; found is false
// for a user that does not exist.
func ParseUserDetails(b []byte) (u UserDetails, found bool, err error) {
	if len(b) == 0 {
		return u, false, nil
	}
	r := reader{b: b}
	u = UserDetails{User: r.user(), Permissions: r.optionalPermissions()}
	if u.Permissions == nil {
		r.take(3)
	}
	if err := r.done("user"); err != nil {
		return UserDetails{}, false, err
	}
	return u, true, nil
}
