// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package tlsconfig is the gateway's side of TLS with Kafka clients: the certificate that it shows, and the authorities
// whose certificates it asks of them. Both come from PEM files, which may change while it runs.
package tlsconfig

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// Files are paths of PEM files.
type Files struct {
	Cert string // the gateway's certificate, followed by those that lead to its authority
	Key  string // its private key
	// ClientCA holds the authorities of clients' certificates, which a client must then have; empty: none is asked for.
	ClientCA string
}

// FileError says which file is at fault.
type FileError struct {
	File string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("tlsconfig: %s: %v", e.File, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// Identity is what a listener's clients are shown and asked for. New connections get what Follow has read last; those
// that are open keep what they began with.
type Identity struct {
	files  Files
	config atomic.Pointer[tls.Config]
	tried  string // what the files held when they were last read: a digest, or why they could not be read; Follow's
}

// Load reads the files. All that is wrong with them is in the error: one or more *FileError.
func Load(files Files) (*Identity, error) {
	i := &Identity{files: files}
	_, err := i.reload()
	return i, err
}

// Listen serves the connections that l accepts over TLS. The handshake is left to the connection's first use.
func (i *Identity) Listen(l net.Listener) net.Listener { return listener{l, i} }

type listener struct {
	net.Listener
	identity *Identity
}

// Accept gives each connection a whole configuration of its time. With tls.Config.GetConfigForClient the session tickets
// of one configuration would be good for the next.
func (l listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&forgetful{Conn: nc}, l.identity.config.Load()), nil
}

// certificate is the gateway's own.
func (i *Identity) certificate() *x509.Certificate { return i.config.Load().Certificates[0].Leaf }

// reload reads the files and puts them to use. When they are what they were the last time, it does nothing.
func (i *Identity) reload() (changed bool, err error) {
	content, err := i.files.read()
	key := content.digest()
	if err != nil {
		key = err.Error()
	}
	if key == i.tried {
		return false, nil
	}
	i.tried = key
	if err != nil {
		return false, err
	}
	config, err := i.files.parse(content)
	if err != nil {
		return false, err
	}
	i.config.Store(config)
	return true, nil
}

// content is what the files hold.
type content struct{ cert, key, clientCA []byte }

func (f Files) read() (c content, err error) {
	var errs []error
	for _, one := range []struct {
		path string
		to   *[]byte
	}{{f.Cert, &c.cert}, {f.Key, &c.key}, {f.ClientCA, &c.clientCA}} {
		if one.path == "" {
			continue
		}
		text, err := os.ReadFile(one.path)
		if err != nil {
			errs = append(errs, &FileError{one.path, withoutPath(err)})
		}
		*one.to = text
	}
	return c, errors.Join(errs...)
}

// withoutPath drops the path that FileError has as well.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// digest stands for the content, whose private key is not to stay in memory more often than it must.
func (c content) digest() string {
	sum := sha256.New()
	for _, part := range [][]byte{c.cert, c.key, c.clientCA} {
		binary.Write(sum, binary.BigEndian, int64(len(part))) // a hash never fails
		sum.Write(part)
	}
	return string(sum.Sum(nil))
}

// parse makes the configuration of a server.
func (f Files) parse(c content) (*tls.Config, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Small records at first help a browser to show the top of a page.
		DynamicRecordSizingDisabled: true,
	}
	var errs []error
	if pair, err := tls.X509KeyPair(c.cert, c.key); err != nil {
		errs = append(errs, &FileError{f.Cert, fmt.Errorf("with the key in %s: %w", f.Key, err)})
	} else {
		config.Certificates = []tls.Certificate{pair}
	}
	if f.ClientCA != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(c.clientCA) {
			errs = append(errs, &FileError{f.ClientCA, errors.New("no certificate in it")})
		}
		// A client that comes back with a ticket would not show its certificate, which may have expired meanwhile.
		config.SessionTicketsDisabled = true
	}
	return config, errors.Join(errs...)
}
