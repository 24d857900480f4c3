// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"bytes"
	"strings"
	"testing"
)

// A login made of bytes is the one made of strings, and is written where it was begun: no copy of the secret is left behind.
func TestLoginOfBytes(t *testing.T) {
	for _, secret := range []string{"", "x", "päss\x00word", strings.Repeat("p", 255), strings.Repeat("p", 256)} {
		for name, pair := range map[string][2][]byte{
			"user":  {AppendLoginUser(nil, "ann", []byte(secret), "0.8.0"), LoginUser{Username: "ann", Password: secret, Version: "0.8.0"}.AppendTo(nil)},
			"token": {AppendLoginWithToken(nil, []byte(secret)), LoginWithToken{Token: secret}.AppendTo(nil)},
		} {
			if !bytes.Equal(pair[0], pair[1]) {
				t.Errorf("%s, secret of %d bytes: %x, want %x", name, len(secret), pair[0], pair[1])
			}
		}
		room := make([]byte, 0, 600)
		if out := AppendLoginUser(room, "ann", []byte(secret), "0.8.0"); &out[0] != &room[:1][0] {
			t.Errorf("secret of %d bytes: written elsewhere", len(secret))
		}
	}
}
