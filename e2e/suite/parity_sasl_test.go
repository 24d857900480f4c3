// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// saslScripts are about logins, where clients do not log in.
func saslScripts() []script {
	return []script{
		{key: kmsg.SASLHandshake.Int16(), run: (*parity).saslHandshake, asked: always(kerr.IllegalSaslState)},
		{key: kmsg.SASLAuthenticate.Int16(), run: (*parity).saslAuthenticate, asked: always(kerr.IllegalSaslState)},
	}
}

func (p *parity) saslHandshake() {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", ""} {
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Mechanism = mechanism
		p.step("handshake for "+mechanism, req)
	}
}

func (p *parity) saslAuthenticate() {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.SASLAuthBytes = []byte("\x00user\x00password")
	p.step("token", req, difference{
		broker:  "  ErrorCode=34 ErrorMessage=\"SaslAuthenticate request received after successful authentication\" SessionLifetimeMillis=0\n",
		gateway: "  closes the connection\n",
		why:     "elsewhere SaslAuthenticate closes the connection",
	})
}
