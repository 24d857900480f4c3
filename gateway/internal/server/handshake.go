// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

// handshake does a TLS connection's, which would else happen in the first read, under the idle timeout.
func (c *Conn) handshake() closing {
	shaker, ok := c.nc.(interface{ Handshake() error })
	if !ok {
		return closing{}
	}
	deadline := time.Now().Add(c.server.cfg.ReadTimeout)
	c.nc.SetWriteDeadline(deadline)
	c.setReadDeadline(deadline)
	err := shaker.Handshake()
	switch {
	case err == nil:
		return closing{}
	case c.stopped.Load():
		return closing{cause: Shutdown}
	}
	return handshakeFailure(err)
}

// handshakeFailure sorts why a TLS handshake failed, and says it in words that help who sets up a client: of most
// failures the client itself reports no more than that the connection was closed.
func handshakeFailure(err error) closing {
	var (
		record  tls.RecordHeaderError
		invalid *tls.CertificateVerificationError
	)
	alert := diagnosis.Alert(err)
	switch {
	case errors.Is(err, io.EOF): // of who only looks whether the port is open
		return peerClosed(io.EOF)
	case errors.As(err, &record) && record.RecordHeader[0] == 0: // the length of a request of less than 16 MiB
		return closing{PlainText, errors.New("server: a Kafka request came where TLS is spoken: the client is not set up for TLS (security.protocol SSL or SASL_SSL)")}
	case errors.As(err, &invalid) && len(invalid.UnverifiedCertificates) > 0:
		return closing{TLSHandshake, fmt.Errorf("server: the client's certificate %.200q is refused: %w",
			invalid.UnverifiedCertificates[0].Subject.String(), invalid.Err)}
	case alert != nil:
		return closing{TLSHandshake, fmt.Errorf("server: the client refuses the certificate or the handshake: %w", alert)}
	}
	return closing{TLSHandshake, err}
}

// refuseTLS tells a client that speaks TLS where it is not spoken by its first bytes, a TLS record with a handshake. As a
// length they would announce a request of 352 MiB, with which nobody begins.
func (c *Conn) refuseTLS() closing {
	if c.requests.Load() > 0 || c.nc != c.socket {
		return closing{}
	}
	const handshakeRecord, majorVersion = 22, 3
	head, _ := c.reader.Peek(min(c.reader.Buffered(), 2))
	if len(head) < 2 || head[0] != handshakeRecord || head[1] != majorVersion {
		return closing{}
	}
	return closing{UnexpectedTLS, errors.New("server: a TLS handshake came where plain Kafka is spoken: the client is set up for TLS, the listener is not (security.protocol PLAINTEXT or SASL_PLAINTEXT, or another port)")}
}
