// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// wireConn is a client's connection, to the gateway or to its Iggy.
type wireConn struct {
	*testing.T
	net.Conn
}

func connect(t *testing.T, addr string) wireConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return wireConn{t, c}
}

// exchange writes a frame, of which nothing is left, and reads an answer's header and what follows it.
func (c wireConn) exchange(frame []byte, header int, body func(header []byte) int) []byte {
	c.Helper()
	_, err := c.Write(frame)
	clear(frame)
	if err != nil {
		c.Fatal(err)
	}
	head := make([]byte, header)
	if _, err := io.ReadFull(c, head); err != nil {
		c.Fatal(err)
	}
	rest := make([]byte, body(head))
	if _, err := io.ReadFull(c, rest); err != nil {
		c.Fatal(err)
	}
	return rest
}

// iggy asks Iggy.
func (c wireConn) iggy(req iggywire.Request) {
	c.Helper()
	c.exchange(iggywire.AppendFrame(make([]byte, 0, 1024), req), iggywire.HeaderSize, func(head []byte) int {
		status, n, err := iggywire.ParseResponseHeader(head)
		if status != iggywire.StatusOK || err != nil {
			c.Fatalf("%v: %v, %v", req.Code(), status, err)
		}
		return n
	})
}

// kafka asks the gateway.
func (c wireConn) kafka(req kmsg.Request, resp kmsg.Response) {
	c.Helper()
	resp.SetVersion(req.GetVersion())
	frame := kmsg.NewRequestFormatter().AppendRequest(make([]byte, 0, 1024), req, 1)
	body := c.frame(frame)[4:] // the correlation id
	if resp.IsFlexible() {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		c.Fatal(err)
	}
}

// frame exchanges length-prefixed frames.
func (c wireConn) frame(frame []byte) []byte {
	c.Helper()
	return c.exchange(frame, 4, func(head []byte) int { return int(binary.BigEndian.Uint32(head)) })
}

func (c wireConn) handshake(version int16) {
	c.Helper()
	req, resp := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLHandshakeResponse()
	req.Version, req.Mechanism = version, "PLAIN"
	if c.kafka(req, resp); resp.ErrorCode != 0 {
		c.Fatalf("handshake: %d", resp.ErrorCode)
	}
}

// token is what PLAIN sends.
func token(user string, password []byte) []byte {
	out := make([]byte, 0, 256)
	out = append(append(append(out, 0), user...), 0)
	out = append(out, password...)
	clear(password)
	return out
}

// What a client signs in with is nowhere in the gateway's memory afterwards, whichever way it came, and whether it was let in.
func TestPasswordsAreForgotten(t *testing.T) {
	t.Run("plain", func(t *testing.T) { forgetsPasswords(t, connect) })
	t.Run("tls", func(t *testing.T) {
		authority := tlstest.NewAuthority(t, "authority")
		settings, _, _ := pemFiles(t, authority.Issue(t, "gateway", time.Now().Add(time.Hour), "127.0.0.1"))
		forgetsPasswords(t, func(t *testing.T, addr string) wireConn {
			c := connect(t, addr)
			return wireConn{t, tls.Client(c.Conn, &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1"})}
		}, settings...)
	})
}

func forgetsPasswords(t *testing.T, connectKafka func(t *testing.T, addr string) wireConn, settings ...string) {
	free := connectable(t)
	addr, stop := start(t, load(t, append(settings, "IGGY_KAFKA_SASL_ENABLED=true", "IGGY_KAFKA_EMBEDDED_ADDR="+free)...))
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	password := make([]byte, 44)
	for i := range password {
		password[i] = byte('a' + i*9%26)
	}
	secret := bridgetest.Disguise(password)
	admin := connect(t, free)
	admin.iggy(iggywire.LoginUser{Username: "iggy", Password: "iggy"})
	text := secret.Reveal()
	admin.iggy(iggywire.CreateUser{Username: "ann", Password: string(text), Status: iggywire.UserActive})
	clear(text)

	for version := range int16(3) {
		c := connectKafka(t, addr)
		c.handshake(1)
		req, resp := kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLAuthenticateResponse()
		req.Version, req.SASLAuthBytes = version, token("ann", secret.Reveal())
		c.kafka(req, resp)
		clear(req.SASLAuthBytes)
		if resp.ErrorCode != 0 {
			t.Fatalf("version %d: %d", version, resp.ErrorCode)
		}
	}
	old := connectKafka(t, addr) // handshake v0: the token is a frame of its own
	old.handshake(0)
	raw := token("ann", secret.Reveal())
	if answer := old.frame(append(binary.BigEndian.AppendUint32(make([]byte, 0, 512), uint32(len(raw))), raw...)); len(answer) != 0 {
		t.Errorf("a bare token was answered %x", answer)
	}
	clear(raw)

	stranger := connectKafka(t, addr)
	stranger.handshake(1)
	req, resp := kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLAuthenticateResponse()
	req.SASLAuthBytes = token("nobody", secret.Reveal())
	stranger.kafka(req, resp)
	clear(req.SASLAuthBytes)
	if resp.ErrorCode != 58 {
		t.Errorf("a stranger was answered %d", resp.ErrorCode)
	}

	if n, err := secret.InMemory(); err != nil || n != 0 {
		t.Errorf("the password is in memory in %d places, %v", n, err)
	}
}

// connectable is an address that is free.
func connectable(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
