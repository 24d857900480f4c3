// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// The user that clients log in as, and one that there is not: who gives wrong passwords has to wait, and others with the
// same name and address as well.
const (
	appUser, appPassword = "app", "the app's own"
	noUser, noPassword   = "nobody", "whatever"
	// sessionSeconds is how long logins last where they have to be renewed.
	sessionSeconds = 3
)

// TestSecurity runs clients against gateways that want to know who they are.
func TestSecurity(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	kind := harness.Kinds()[2]                              // an Iggy of its own, as it is run where passwords matter
	login := startSecured(t, kind, build, false, saslOn...) // SASL_PLAINTEXT and SASL_SSL
	mutual := startSecured(t, kind, build, true)            // PLAINTEXT, and SSL with certificates on both sides
	relogin := start(t, kind, build, append(saslOn, "IGGY_KAFKA_SASL_SESSION_LIFETIME_SECS=3")...)
	for _, target := range []*harness.Target{login.Target, relogin} {
		addUser(t, target, appUser, appPassword, iggcon.GlobalPermissions{
			ManageStreams: true, ManageTopics: true, PollMessages: true, SendMessages: true,
		})
	}
	t.Run("clients", func(t *testing.T) {
		testSecuredClients(t, login, mutual)
		if !slowClients(login.Target) {
			return
		}
		t.Run("java", func(t *testing.T) {
			t.Parallel()
			testSecuredJava(t, login, mutual, relogin)
		})
		t.Run("librdkafka-relogin", func(t *testing.T) { testRelogin(t, relogin) })
	})
	t.Run("narrow-users", func(t *testing.T) { testNarrowUsers(t, login) })
	t.Run("pitfalls", func(t *testing.T) { testLoginPitfalls(t, login.Target) })
	t.Run("PB-19-no-relogin", func(t *testing.T) { testNoRelogin(t, relogin) })
	t.Run("addresses", func(t *testing.T) { testSecuredAddresses(t, login, mutual) })
	t.Run("reload", func(t *testing.T) { testReload(t, mutual) })
}

var saslOn = []string{"IGGY_KAFKA_SASL_ENABLED=true"}

// secured is a gateway with a second listener for TLS.
type secured struct {
	*harness.Target
	tls       string // host:port
	authority *harness.Authority
	cert      harness.Certificate // the gateway's
	client    harness.Certificate
}

// startSecured starts a gateway with a certificate. Mutual has it ask clients for theirs.
func startSecured(t *testing.T, kind harness.Kind, build func() (harness.Binaries, error), mutual bool, settings ...string) *secured {
	t.Helper()
	s := &secured{}
	var err error
	if s.authority, err = harness.NewAuthority(t.TempDir(), "authority"); err != nil {
		t.Fatal(err)
	}
	s.cert, s.client = s.issue(t, "gateway", "127.0.0.1", "localhost"), s.issue(t, "client")
	if s.tls, err = harness.FreeAddr(); err != nil {
		t.Fatal(err)
	}
	settings = append([]string{
		"IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0", "IGGY_KAFKA_TLS_BIND_ADDR=" + s.tls,
		"IGGY_KAFKA_TLS_CERT_FILE=" + s.cert.Cert, "IGGY_KAFKA_TLS_KEY_FILE=" + s.cert.Key,
	}, settings...)
	if mutual {
		settings = append(settings, "IGGY_KAFKA_TLS_CLIENT_CA_FILE="+s.authority.CA)
	}
	s.Target = start(t, kind, build, settings...)
	return s
}

func (s *secured) issue(t *testing.T, name string, hosts ...string) harness.Certificate {
	t.Helper()
	cert, err := s.authority.Issue(name, time.Now().Add(time.Hour), hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// overTLS has a client use TLS, and show its certificate.
func (s *secured) overTLS(t *testing.T, security clients.Security) clients.Security {
	t.Helper()
	security, err := security.WithTLS(s.authority.CA, s.client.Cert, s.client.Key)
	if err != nil {
		t.Fatal(err)
	}
	return security
}

// addUser has Iggy know another user.
func addUser(t *testing.T, target *harness.Target, name, password string, may iggcon.GlobalPermissions) {
	t.Helper()
	if _, err := dialIggy(t, target).client.CreateUser(name, password, iggcon.Active, &iggcon.Permissions{Global: may}); err != nil {
		t.Fatal(err)
	}
}
