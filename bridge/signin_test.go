// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"errors"
	"testing"
)

// Iggy is not asked about names that it would take for a user's number, of which there are many for each user.
func TestSignInByNumber(t *testing.T) {
	for _, name := range []string{"0", "001", "+1", "+0000042", "4294967295"} {
		password := []byte("secret")
		if _, err := (&Bridge{}).SignIn(t.Context(), name, password); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", name, err)
		}
		if len(bytes.Trim(password, "\x00")) > 0 {
			t.Errorf("%q: the password is still there", name)
		}
	}
	for _, name := range []string{"", "+", "++1", "-1", "1a", "0x1", "1_000", " 1", "٣", "4294967296"} {
		if isNumber(name) {
			t.Errorf("%q is a name", name)
		}
	}
}
