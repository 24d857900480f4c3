// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package tlstest makes certificates for tests, good ones and bad ones.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	PEM  []byte // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority is trusted by nobody yet.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	template := template(tb, name, time.Now().Add(time.Hour))
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(tb)
	der := sign(tb, template, template, key, key)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return &Authority{PEM: encode("CERTIFICATE", der), cert: cert, key: key}
}

// Pool trusts the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Pair is a certificate and its key, as PEM.
type Pair struct{ Cert, Key []byte }

// Issue makes a certificate, for servers at the hosts and for clients, that is good until then.
func (a *Authority) Issue(tb testing.TB, name string, until time.Time, hosts ...string) Pair {
	tb.Helper()
	template := template(tb, name, until)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key := newKey(tb)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Pair{Cert: encode("CERTIFICATE", sign(tb, template, a.cert, key, a.key)), Key: encode("PRIVATE KEY", der)}
}

// TLS is the pair as crypto/tls takes it.
func (p Pair) TLS(tb testing.TB) tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

// Write puts bytes into a file, whose path it returns.
func Write(tb testing.TB, path string, text []byte) string {
	tb.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func template(tb testing.TB, name string, until time.Time) *x509.Certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC), NotAfter: until, // the clock of testing/synctest starts in 2000
	}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func sign(tb testing.TB, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
