// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// CreateToken creates a personal access token for the user logged in; the answer
// is a [RawToken], the only time that the token itself is seen.
//
//	name string8 | expiry u64
type CreateToken struct {
	Name   string // 3 to 30 bytes
	Expiry uint64 // µs from now on; 0: never
}

// Code returns [CodeCreateToken].
func (CreateToken) Code() Code { return CodeCreateToken }

// AppendTo appends the body.
func (c CreateToken) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(appendString8(dst, c.Name), c.Expiry)
}

// ParseCreateToken reads the body of a [CreateToken].
func ParseCreateToken(b []byte) (CreateToken, error) {
	r := reader{b: b}
	c := CreateToken{Name: r.name(), Expiry: r.u64()}
	return c, r.end("create token")
}

// DeleteToken deletes a token of the user logged in.
type DeleteToken struct{ Name string }

// Code returns [CodeDeleteToken].
func (DeleteToken) Code() Code { return CodeDeleteToken }

// AppendTo appends the body.
func (d DeleteToken) AppendTo(dst []byte) []byte { return appendString8(dst, d.Name) }

// ParseDeleteToken reads the body of a [DeleteToken].
func ParseDeleteToken(b []byte) (DeleteToken, error) {
	r := reader{b: b}
	d := DeleteToken{Name: r.name()}
	return d, r.end("delete token")
}

// RawToken is the answer to [CreateToken].
type RawToken struct{ Token string }

// AppendTo appends the answer.
func (t RawToken) AppendTo(dst []byte) []byte { return appendString8(dst, t.Token) }

// ParseRawToken reads the answer to [CreateToken].
func ParseRawToken(b []byte) (RawToken, error) {
	r := reader{b: b}
	t := RawToken{Token: r.name()}
	return t, r.done("raw token")
}

// Token is one element of the answer to [CodeGetTokens].
//
//	name string8 | expires at u64
type Token struct {
	Name      string
	ExpiresAt uint64 // µs since 1970; 0: never
}

// AppendTo appends the element.
func (t Token) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(appendString8(dst, t.Name), t.ExpiresAt)
}

func (r *reader) token() Token { return Token{Name: r.name(), ExpiresAt: r.u64()} }

// ParseTokens reads the answer to [CodeGetTokens].
func ParseTokens(b []byte) ([]Token, error) { return parseList(b, "tokens", (*reader).token) }
