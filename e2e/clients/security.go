// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Security is how a client says who it is, and whom it believes. The zero Security is plain Kafka.
type Security struct {
	User, Password string // by SASL/PLAIN; no user: without SASL

	CA        string // PEM file of the authority that the broker's certificate must be of; empty: without TLS
	Cert, Key string // PEM files of the certificate that it shows; empty: none
	tls       *tls.Config
}

// WithTLS adds TLS; cert and key may be empty.
func (s Security) WithTLS(ca, cert, key string) (Security, error) {
	s.CA, s.Cert, s.Key = ca, cert, key
	text, err := os.ReadFile(ca)
	if err != nil {
		return s, fmt.Errorf("clients: %w", err)
	}
	s.tls = &tls.Config{RootCAs: x509.NewCertPool()}
	if !s.tls.RootCAs.AppendCertsFromPEM(text) {
		return s, fmt.Errorf("clients: no certificate in %s", ca)
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return s, fmt.Errorf("clients: %w", err)
		}
		s.tls.Certificates = []tls.Certificate{pair}
	}
	return s, nil
}

// TLS is what WithTLS has made, for clients that are not of this package; nil without.
func (s Security) TLS() *tls.Config { return s.tls.Clone() }

// Protocol is what Kafka calls it.
func (s Security) Protocol() string {
	switch {
	case s.User != "" && s.CA != "":
		return "SASL_SSL"
	case s.User != "":
		return "SASL_PLAINTEXT"
	case s.CA != "":
		return "SSL"
	default:
		return "PLAINTEXT"
	}
}

// environment tells a Program.
func (s Security) environment() []string {
	return []string{
		"SASL_USER=" + s.User, "SASL_PASSWORD=" + s.Password, "TLS_CA=" + s.CA, "TLS_CERT=" + s.Cert, "TLS_KEY=" + s.Key,
	}
}
