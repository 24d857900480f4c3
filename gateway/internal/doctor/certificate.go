// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// insecure is what it means that a TLS handshake has failed.
func (v *visit) insecure(ctx context.Context, err error) finding {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return failed("the certificate's authority is unknown here: "+issuer(authority.Cert),
			"Give --tls-ca-file with the authority's certificate (in Kafka's clients a truststore).")
	case errors.As(err, &name):
		return failed("the certificate is not for "+shown(name.Host)+", but for "+strings.Join(names(name.Certificate), ", "),
			"Connect by a name that the certificate has, or have one made that has this name.")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failed(expired(invalid.Cert, time.Now()), "Renew the certificate, or put this machine's clock right.")
	case wantsCertificate(err):
		return failed("the server wants a client certificate that it trusts: "+cause(err), adviceClientCertificate)
	case isAlert(err):
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

func issuer(c *x509.Certificate) string {
	if c == nil {
		return "not named"
	}
	return shown(c.Issuer.String())
}

// names are those that a certificate is for.
func names(c *x509.Certificate) (names []string) {
	for _, name := range c.DNSNames {
		names = append(names, shown(name))
	}
	for _, addr := range c.IPAddresses {
		names = append(names, addr.String())
	}
	if len(names) == 0 {
		return []string{"no name at all"}
	}
	return names
}

func expired(c *x509.Certificate, now time.Time) string {
	if now.Before(c.NotBefore) {
		return fmt.Sprintf("the certificate is good from %s on, and here it is %s", c.NotBefore.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	return fmt.Sprintf("the certificate was good until %s", c.NotAfter.Format(time.RFC3339))
}
