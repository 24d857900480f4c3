// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testLoginPitfalls does what other gateways got wrong about logins.
func testLoginPitfalls(t *testing.T, target *harness.Target) {
	t.Run("PB-18-bare-tokens", func(t *testing.T) { testBareTokens(t, target) })
	t.Run("PB-20-before-and-after-login", func(t *testing.T) { testBeforeLogin(t, target) })
}

func plainToken(user, password string) []byte { return []byte("\x00" + user + "\x00" + password) }

func handshakeOf(version int16, mechanism string) *kmsg.SASLHandshakeRequest {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = version, mechanism
	return req
}

func authenticateWith(token []byte) *kmsg.SASLAuthenticateRequest {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 2, token
	return req
}

func metadataOfAll() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	return req
}

// testBareTokens: behind SaslHandshake v0 the token comes in a frame of its own, and is answered by an empty one; the frame
// behind that is a request again.
func testBareTokens(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	if resp := askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(0, "PLAIN")); resp.ErrorCode != 0 {
		t.Fatalf("SaslHandshake v0: %d", resp.ErrorCode)
	}
	answer, err := conn.Bare(within(t, limit), plainToken(appUser, appPassword))
	if err != nil || len(answer) > 0 {
		t.Fatalf("the token is answered by %q, %v; want nothing", answer, err)
	}
	if resp := askRaw[*kmsg.MetadataResponse](t, conn, metadataOfAll()); len(resp.Brokers) != 1 {
		t.Errorf("Metadata tells %d brokers", len(resp.Brokers))
	}

	conn = dialRaw(t, target)
	askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(0, "PLAIN"))
	if answer, err := conn.Bare(within(t, limit), plainToken(noUser, noPassword)); err == nil {
		t.Errorf("a wrong token is answered by %q, want the end of the connection", answer)
	}
}

// testBeforeLogin: nothing but the login is served before it, and nothing at all after one that failed.
func testBeforeLogin(t *testing.T, target *harness.Target) {
	closed := func(what string, conn *clients.Raw, req kmsg.Request) {
		t.Helper()
		if resp, err := conn.Ask(within(t, limit), req); err == nil {
			t.Errorf("%s is answered: %+v", what, resp)
		}
	}
	conn := dialRaw(t, target)
	versions := askRaw[*kmsg.ApiVersionsResponse](t, conn, kmsg.NewPtrApiVersionsRequest())
	for _, key := range []kmsg.Key{kmsg.SASLHandshake, kmsg.SASLAuthenticate, kmsg.DescribeACLs} {
		if !slices.ContainsFunc(versions.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == key.Int16() }) {
			t.Errorf("%s is not advertised", key.Name())
		}
	}
	closed("Metadata before a login", conn, metadataOfAll())
	closed("SaslAuthenticate without a handshake", dialRaw(t, target), authenticateWith(plainToken(appUser, appPassword)))

	conn = dialRaw(t, target)
	askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(1, "PLAIN"))
	if resp := askRaw[*kmsg.SASLAuthenticateResponse](t, conn, authenticateWith(plainToken(noUser, noPassword))); resp.ErrorCode != kerr.SaslAuthenticationFailed.Code {
		t.Errorf("a wrong password: %d", resp.ErrorCode)
	}
	closed("Metadata after a wrong password", conn, metadataOfAll())

	conn = dialRaw(t, target)
	offered := askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(1, "SCRAM-SHA-256"))
	if offered.ErrorCode != kerr.UnsupportedSaslMechanism.Code || !slices.Equal(offered.SupportedMechanisms, []string{"PLAIN"}) {
		t.Errorf("SCRAM: %d, offered are %q", offered.ErrorCode, offered.SupportedMechanisms)
	}
	closed("Metadata after another mechanism", conn, metadataOfAll())

	conn = dialRaw(t, target)
	loginRaw(t, conn, appUser, appPassword)
	if again := askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(1, "PLAIN")); again.ErrorCode != kerr.IllegalSaslState.Code {
		t.Errorf("a second handshake: %d", again.ErrorCode)
	}
}
