// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Authority issues certificates that are good for as long as a test runs. Everything is kept in files, as programs want it.
type Authority struct {
	CA   string // PEM file of its own certificate
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Certificate is one that an Authority has issued.
type Certificate struct {
	Cert, Key string // PEM files
	Both      string // PEM file of both, which Kafka's own client takes as a key store
}

// NewAuthority keeps its files in dir.
func NewAuthority(dir, name string) (*Authority, error) {
	template := certificateTemplate(name, time.Now().Add(time.Hour))
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	a := &Authority{CA: filepath.Join(dir, name+".pem"), dir: dir, cert: cert, key: key}
	return a, writePEM(a.CA, certificatePEM(der))
}

// Issue makes a certificate for a server at the hosts, or for a client, that is good until then. A second one of the same
// name replaces the first.
func (a *Authority) Issue(name string, until time.Time, hosts ...string) (Certificate, error) {
	template := certificateTemplate(name, until)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, fmt.Errorf("harness: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return Certificate{}, fmt.Errorf("harness: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, fmt.Errorf("harness: %w", err)
	}
	certText, keyText := certificatePEM(der), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	path := func(kind string) string { return filepath.Join(a.dir, name+"-"+kind+".pem") }
	c := Certificate{Cert: path("cert"), Key: path("key"), Both: path("both")}
	for path, text := range map[string][]byte{c.Cert: certText, c.Key: keyText, c.Both: slices.Concat(keyText, certText)} {
		if err := writePEM(path, text); err != nil {
			return Certificate{}, err
		}
	}
	return c, nil
}

func certificateTemplate(name string, until time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
	}
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func writePEM(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	return nil
}
