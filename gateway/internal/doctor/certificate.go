// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

// insecure is what it means that a TLS handshake has failed.
func (v *visit) insecure(ctx context.Context, err error) finding {
	if flaw, is := diagnosis.Certificate(err, time.Now()); flaw != diagnosis.NoFlaw {
		return failed("the certificate is "+is, map[diagnosis.Flaw]string{
			diagnosis.UnknownAuthority: "Give --tls-ca-file with the authority's certificate (in Kafka's clients a truststore).",
			diagnosis.OtherName:        "Connect by a name that the certificate has, or have one made that has this name.",
			diagnosis.Invalid:          "Renew the certificate, or put this machine's clock right.",
		}[flaw])
	}
	var record tls.RecordHeaderError
	switch {
	case wantsCertificate(err):
		return failed("the server wants a client certificate that it trusts: "+cause(err), adviceClientCertificate)
	case diagnosis.Alert(err) != nil:
		return failed("the server refuses the handshake: "+cause(err), "The two have no version or cipher of TLS in common; the gateway speaks TLS 1.2 and 1.3.")
	case errors.As(err, &record) && recognise(record.RecordHeader[:]) == speaksHTTP:
		return v.stranger(speaksHTTP, err)
	}
	switch spoken := v.identify(ctx); spoken {
	case speaksKafka, speaksHTTP:
		return v.stranger(spoken, err)
	case silent:
		if !isTimeout(err) {
			return failed(v.address()+" closes the connection at the TLS handshake: "+cause(err), "It speaks another protocol, or is full or about to stop. Look at its log.")
		}
		return v.stranger(spoken, err)
	}
	return failed("the TLS handshake fails: "+cause(err), "Look at the server's log, which says why.")
}
