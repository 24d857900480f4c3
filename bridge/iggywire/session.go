// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"slices"
)

// LoginUser logs a connection in with a password.
//
//	user name string8 | password string8 | version string32 | context string32
//
// Version is the client's and Context is free text; the server only logs them.
type LoginUser struct {
	Username, Password string
	Version, Context   string
}

// Code returns [CodeLoginUser].
func (LoginUser) Code() Code { return CodeLoginUser }

// AppendTo appends the body.
func (l LoginUser) AppendTo(dst []byte) []byte {
	dst = appendString8(dst, l.Username)
	dst = appendString8(dst, l.Password)
	dst = appendString32(dst, l.Version)
	return appendString32(dst, l.Context)
}

// AppendLoginUser appends the body of a [LoginUser] without context, whose password
// is in bytes that the caller can overwrite. It leaves no copy behind but that in
// what it returns, if dst is nil or has room for all of it.
func AppendLoginUser(dst []byte, username string, password []byte, version string) []byte {
	dst = slices.Grow(dst, 1+len(username)+1+len(password)+4+len(version)+4)
	dst = appendString8(dst, username)
	dst = appendString8(dst, password)
	dst = appendString32(dst, version)
	return appendString32(dst, "")
}

// ParseLoginUser reads the body of a [LoginUser]. An empty password is left to
// the server to refuse: it has a status of its own.
func ParseLoginUser(b []byte) (LoginUser, error) {
	r := reader{b: b}
	l := LoginUser{
		Username: r.string8(),
		Password: r.string8(),
		Version:  r.string32(),
		Context:  r.string32(),
	}
	return l, r.end("login")
}

// LoginWithToken logs a connection in with a personal access token.
type LoginWithToken struct{ Token string }

// Code returns [CodeLoginWithToken].
func (LoginWithToken) Code() Code { return CodeLoginWithToken }

// AppendTo appends the body.
func (l LoginWithToken) AppendTo(dst []byte) []byte { return appendString8(dst, l.Token) }

// AppendLoginWithToken appends the body of a [LoginWithToken] as [AppendLoginUser]
// does that of a [LoginUser].
func AppendLoginWithToken(dst []byte, token []byte) []byte {
	return appendString8(slices.Grow(dst, 1+len(token)), token)
}

// ParseLoginWithToken reads the body of a [LoginWithToken].
func ParseLoginWithToken(b []byte) (LoginWithToken, error) {
	r := reader{b: b}
	l := LoginWithToken{Token: r.name()}
	return l, r.end("login with token")
}

// Identity is the answer to a login.
type Identity struct{ UserID uint32 }

// AppendTo appends the body.
func (i Identity) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(dst, i.UserID)
}

// ParseIdentity reads the answer to a login.
func ParseIdentity(b []byte) (Identity, error) {
	r := reader{b: b}
	i := Identity{UserID: r.u32()}
	return i, r.done("identity")
}
