// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestParseToken(t *testing.T) {
	long := strings.Repeat("x", maxPart)
	tests := []struct {
		name, token, user, password string
		err                         error
	}{
		{"plain", "\x00alice\x00secret", "alice", "secret", nil},
		{"authzid is the user", "alice\x00alice\x00secret", "alice", "secret", nil},
		{"a personal access token", "\x00$token\x00abc", "$token", "abc", nil},
		{"utf-8", "\x00żółw\x00пароль", "żółw", "пароль", nil},
		{"the longest", long + "\x00" + long + "\x00" + long, long, long, nil},
		{"spaces are the user's", "\x00 alice\x00 s ", " alice", " s ", nil},
		{"authzid is another", "bob\x00alice\x00secret", "", "", errImpersonation},
		{"nothing", "", "", "", errMalformed},
		{"one part", "alice", "", "", errMalformed},
		{"two parts", "alice\x00secret", "", "", errMalformed},
		{"four parts", "\x00alice\x00secret\x00", "", "", errMalformed},
		{"no user", "\x00\x00secret", "", "", errMalformed},
		{"no password", "\x00alice\x00", "", "", errMalformed},
		{"user too long", "\x00" + long + "x\x00secret", "", "", errMalformed},
		{"password too long", "\x00alice\x00x" + long, "", "", errMalformed},
		{"authzid too long", long + "x\x00alice\x00secret", "", "", errMalformed},
		{"far too long", strings.Repeat("x", 1<<16), "", "", errMalformed},
		{"user is no utf-8", "\x00\xff\x00secret", "", "", errMalformed},
		{"password is no utf-8", "\x00alice\x00\xc3", "", "", errMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			user, password, err := parseToken([]byte(test.token))
			if user != test.user || string(password) != test.password || err != test.err && !errors.Is(err, test.err) {
				t.Errorf("%q, %q, %v", user, password, err)
			}
			if err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%v is no refusal", err)
			}
		})
	}
}

// FuzzToken: no token panics, and what is taken out of one makes it up.
func FuzzToken(f *testing.F) {
	f.Add([]byte("\x00alice\x00secret"))
	f.Add([]byte("alice\x00alice\x00secret"))
	f.Add([]byte("\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, token []byte) {
		user, password, err := parseToken(token)
		if err != nil {
			if user != "" || password != nil {
				t.Errorf("%q, %q with %v", user, password, err)
			}
			return
		}
		short := "\x00" + user + "\x00" + string(password)
		if !bytes.Equal(token, []byte(short)) && !bytes.Equal(token, []byte(user+short)) {
			t.Errorf("%q became %q", token, short)
		}
	})
}
