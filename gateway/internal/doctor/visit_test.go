// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"
)

// elsewhere is a connection to another machine, on which all that is written is kept.
type elsewhere struct {
	net.Conn
	written bytes.Buffer
}

func (c *elsewhere) Write(p []byte) (int, error) { return c.written.Write(p) }
func (c *elsewhere) Read([]byte) (int, error)    { return 0, net.ErrClosed }
func (c *elsewhere) SetDeadline(time.Time) error { return nil }
func (c *elsewhere) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9093}
}

// The gateway's own user is logged in with on this machine, and elsewhere over TLS alone: a wrong advertised address must not give its
// password away.
func TestOwnUserStaysHere(t *testing.T) {
	for _, tc := range []struct {
		name string
		own  bool
		tls  *tls.Config
		sent bool
	}{
		{"the gateway's own", true, nil, false},
		{"the gateway's own, over TLS", true, &tls.Config{}, true},
		{"one that was named", false, nil, true},
	} {
		c := &elsewhere{}
		v := newVisit(&Options{Target: Target{User: "iggy", Password: "hunter2", Own: tc.own, TLS: tc.tls}, StepTimeout: time.Minute}, "192.0.2.1:9093")
		v.conn, v.session = c, &session{conn: c, served: map[int16][2]int16{17: {0, 1}, 36: {0, 2}}}
		f := v.login(t.Context())
		if sent := c.written.Len() > 0; f.Status != Failed || sent != tc.sent || strings.Contains(f.Found, "in the clear") == tc.sent {
			t.Errorf("%s: %+v, %d bytes sent", tc.name, f, c.written.Len())
		}
	}
	if !onThisMachine(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}) || onThisMachine(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}) {
		t.Error("this machine is not known")
	}
}
