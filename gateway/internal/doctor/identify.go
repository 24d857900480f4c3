// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

// protocol is what a server speaks.
type protocol string

const (
	speaksKafka protocol = "Kafka without TLS"
	speaksTLS   protocol = "TLS"
	speaksHTTP  protocol = "HTTP"
	unknown     protocol = "something that is not Kafka"
	silent      protocol = "" // nothing at all
)

// recognise names the protocol of an answer's first bytes.
func recognise(head []byte) protocol {
	const alert, handshake, major = 21, 22, 3 // of a TLS record
	switch {
	case bytes.HasPrefix(head, []byte("HTTP/")):
		return speaksHTTP
	case len(head) >= 2 && (head[0] == alert || head[0] == handshake) && head[1] == major:
		return speaksTLS
	}
	return unknown
}

// identify finds out what a server speaks that has not answered as expected, by talking to it in the ways that the doctor
// was not asked to. Each has a quarter of a step's time.
func (v *visit) identify(ctx context.Context) protocol {
	tries := []func(context.Context, net.Conn) protocol{tryTLS, tryHTTP}
	if v.Target.TLS != nil {
		tries = []func(context.Context, net.Conn) protocol{v.tryKafka, tryHTTP}
	}
	for _, try := range tries {
		if found := v.attempt(ctx, try); found != silent {
			return found
		}
	}
	return silent
}

func (v *visit) attempt(ctx context.Context, try func(context.Context, net.Conn) protocol) protocol {
	ctx, cancel := context.WithTimeout(ctx, v.StepTimeout/4)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", v.address())
	if err != nil {
		return silent
	}
	defer conn.Close()
	return try(ctx, conn)
}

func (v *visit) tryKafka(ctx context.Context, conn net.Conn) protocol {
	var other *notKafka
	switch err := (&session{conn: conn, version: v.Version}).greet(ctx); {
	case err == nil:
		return speaksKafka
	case errors.As(err, &other):
		return recognise(other.head)
	}
	return silent
}

// tryTLS trusts whoever answers: it only wants to know whether somebody does, and sends nothing else.
func tryTLS(ctx context.Context, conn net.Conn) protocol {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	if err == nil || diagnosis.Alert(err) != nil {
		return speaksTLS
	}
	return silent
}

func tryHTTP(ctx context.Context, conn net.Conn) protocol {
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := io.WriteString(conn, "HEAD / HTTP/1.0\r\n\r\n"); err != nil {
		return silent
	}
	var head [5]byte
	n, _ := io.ReadFull(conn, head[:])
	if n == 0 {
		return silent
	}
	return recognise(head[:n])
}

// wantsCertificate says whether the server has ended TLS for lack of a certificate of the client's that it trusts (RFC 8446:
// certificate_required, bad_certificate, unknown_ca; TLS 1.3 tells the client only behind the handshake).
func wantsCertificate(err error) bool {
	alert := diagnosis.Alert(err)
	return alert != nil && slices.ContainsFunc([]string{"certificate required", "bad certificate", "unknown certificate authority"}, func(text string) bool {
		return strings.Contains(alert.Error(), text)
	})
}
