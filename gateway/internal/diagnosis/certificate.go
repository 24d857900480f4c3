// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
)

// Flaw is why a certificate is not taken.
type Flaw uint8

const (
	NoFlaw Flaw = iota
	UnknownAuthority
	OtherName // than that by which the server was called
	Invalid   // too old or too young, or not fit for what it is used for
)

// Certificate says what is wrong with the certificate that a TLS server has shown, and in which words to go on behind "a
// certificate". NoFlaw: err is another failure.
func Certificate(err error, now time.Time) (flaw Flaw, is string) {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return UnknownAuthority, "of an unknown authority: " + issuer(authority.Cert)
	case errors.As(err, &name):
		return OtherName, "for " + strings.Join(names(name.Certificate), ", ") + ", not for " + shown(name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Invalid, outOfTime(invalid.Cert, now)
	case errors.As(err, &invalid):
		return Invalid, "not valid: " + invalid.Error()
	}
	return NoFlaw, ""
}

func issuer(c *x509.Certificate) string {
	if c == nil {
		return "not named"
	}
	return shown(c.Issuer.String())
}

// maxNames is how many of the names are told that a certificate is for.
const maxNames = 8

// names are those that a certificate is for.
func names(c *x509.Certificate) (names []string) {
	for _, name := range c.DNSNames {
		names = append(names, shown(name))
	}
	for _, addr := range c.IPAddresses {
		names = append(names, addr.String())
	}
	switch {
	case len(names) == 0:
		return []string{"no name at all"}
	case len(names) > maxNames:
		return append(names[:maxNames], "...")
	}
	return names
}

func outOfTime(c *x509.Certificate, now time.Time) string {
	if now.Before(c.NotBefore) {
		return fmt.Sprintf("not valid yet: it is good from %s on, and here it is %s", stamp(c.NotBefore), stamp(now))
	}
	return fmt.Sprintf("not valid any more: it was good until %s", stamp(c.NotAfter))
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

// shown is a text of the other side's.
func shown(text string) string {
	const most = 200
	return excerpt.Quoted(text, most)
}
