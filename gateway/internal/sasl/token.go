// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Plain is the only mechanism. Whatever else Kafka knows needs more of a password than a hash of it, or other parties.
const Plain = "PLAIN"

// maxPart is the most bytes that each part of a token may have.
const maxPart = 255

// parseToken takes a token of PLAIN apart (RFC 4616):
//
//	[authzid] NUL user NUL password
//
// Each part is UTF-8 of at most 255 bytes; user and password are not empty; authzid is, or is the user. password refers to the
// token's bytes. The error wraps ErrRefused.
func parseToken(token []byte) (user string, password []byte, err error) {
	if len(token) > 3*maxPart+2 || !utf8.Valid(token) {
		return "", nil, errMalformed
	}
	authzid, rest, _ := bytes.Cut(token, []byte{0})
	name, password, whole := bytes.Cut(rest, []byte{0})
	switch {
	case !whole || bytes.IndexByte(password, 0) >= 0:
		return "", nil, errMalformed
	case len(name) == 0 || len(password) == 0 || max(len(authzid), len(name), len(password)) > maxPart:
		return "", nil, errMalformed
	case len(authzid) > 0 && !bytes.Equal(authzid, name):
		return "", nil, errImpersonation
	}
	return string(name), password, nil
}

// refusal is why a client is refused, in the words of a broker. For who is wrong about a password there is only one, and it
// does not say whether there is such a user.
type refusal struct{ text string }

func (r *refusal) Error() string        { return "sasl: " + r.text }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

var (
	errCredentials   = &refusal{"Authentication failed: Invalid username or password"}
	errImpersonation = &refusal{"Authentication failed: Client requested an authorization id that is different from username"}
	errMalformed     = &refusal{"Authentication failed during authentication due to invalid credentials with SASL mechanism " + Plain}
	errOtherHolder   = &refusal{"Authentication failed: Cannot change principals during re-authentication"}
)

// penalized is errCredentials for who was refused a moment ago and is not checked: the client is told the same, the log more.
type penalized struct{ *refusal }

func (p penalized) Error() string { return fmt.Sprintf("%v (not checked again so soon)", p.refusal) }
func (p penalized) Unwrap() error { return p.refusal }
