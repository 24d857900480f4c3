// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

func saslHandshake(version int16) *kmsg.SASLHandshakeRequest {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = version, "PLAIN"
	return req
}

func saslToken(user, password string) *kmsg.SASLAuthenticateRequest {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 2, []byte("\x00"+user+"\x00"+password)
	return req
}

// A user of Iggy's comes in with the password, or with a token; nobody else does, and is told the same whatever is wrong.
func TestLogin(t *testing.T) {
	iggytest.Each(t, func(t *testing.T, iggy *iggytest.Server) {
		w := newPermitted(t, iggy, onStream(iggywire.StreamPermissions{ManageStream: true}), func(s *setup) {
			s.gate = func(cfg *sasl.Config) { cfg.RejectionDelay = 100 * time.Millisecond }
		})
		c := w.login(t)
		c.produce("here", 0, batch("v"))
		asleep := w.user + "-2"
		w.root.Must(iggywire.CreateUser{Username: asleep, Password: permissionPassword, Status: iggywire.UserInactive})
		t.Cleanup(func() { w.root.Ask(iggywire.DeleteUser{User: iggywire.NamedID(asleep)}) })
		texts := map[string]bool{}
		for _, who := range []struct{ user, password string }{
			{w.user, "not this"}, {"nobody-" + w.user, permissionPassword}, {asleep, permissionPassword}, {"$token", "no-such-token"},
			{"x", permissionPassword}, {strings.Repeat("x", 255), permissionPassword}, {w.user + "-3", "x"}, {w.user + "-4", strings.Repeat("x", 255)},
		} {
			c := w.dial(t)
			ask[*kmsg.SASLHandshakeResponse](c, saslHandshake(1))
			begun := time.Now()
			got := ask[*kmsg.SASLAuthenticateResponse](c, saslToken(who.user, who.password))
			if took := time.Since(begun); got.ErrorCode != 58 || got.ErrorMessage == nil || took < 100*time.Millisecond {
				t.Errorf("%.20q with %.20q: error %d after %v", who.user, who.password, got.ErrorCode, took)
				continue
			}
			texts[*got.ErrorMessage] = true
			c.expectClosed()
		}
		if len(texts) != 1 {
			t.Errorf("clients can tell why: %v", texts)
		}
	})
}

// PB-18: the old framing, as sarama's SASLHandshakeV0 has it.
func TestOldFraming(t *testing.T) {
	gw := start(t, setup{authenticate: true})
	c := gw.dial(t)
	ask[*kmsg.SASLHandshakeResponse](c, saslHandshake(0))
	token := "\x00iggy\x00iggy"
	c.write(append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...))
	_ = c.nc.SetReadDeadline(time.Now().Add(patience))
	var answer [4]byte
	if _, err := io.ReadFull(c.nc, answer[:]); err != nil || answer != [4]byte{} {
		t.Fatalf("%x, %v", answer, err)
	}
	if got := ask[*kmsg.MetadataResponse](c, metadataRequest(9)); got.ErrorCode != 0 || len(got.Brokers) != 1 {
		t.Errorf("metadata: %+v", got)
	}
}

// PB-20, and what is served where clients do not authenticate.
func TestOutOfTurn(t *testing.T) {
	gw := start(t, setup{authenticate: true})
	c := gw.dial(t)
	c.send(metadataRequest(9))
	c.expectClosed()
	c = gw.dial(t)
	c.send(saslToken("iggy", "iggy"))
	c.expectClosed()
	c = gw.dial(t)
	foreign := saslHandshake(1)
	foreign.Mechanism = "SCRAM-SHA-256"
	if got := ask[*kmsg.SASLHandshakeResponse](c, foreign); got.ErrorCode != 33 || len(got.SupportedMechanisms) != 1 || got.SupportedMechanisms[0] != "PLAIN" {
		t.Errorf("another mechanism: %+v", got)
	}
	c.expectClosed()
	c = gw.dial(t)
	c.send(saslHandshake(1), saslToken("iggy", "wrong"), metadataRequest(9))
	next[*kmsg.SASLHandshakeResponse](c)
	if got := next[*kmsg.SASLAuthenticateResponse](c); got.ErrorCode != 58 {
		t.Errorf("wrong password: error %d", got.ErrorCode)
	}
	c.expectClosed()

	open := shared(t)
	c = open.dial(t)
	if got := ask[*kmsg.SASLHandshakeResponse](c, saslHandshake(1)); got.ErrorCode != 34 || len(got.SupportedMechanisms) != 0 {
		t.Errorf("where clients do not authenticate: %+v", got)
	}
	c.send(saslToken("iggy", "iggy"))
	c.expectClosed()
}

// Authentication is advertised where there is some.
func TestAuthenticationIsAdvertised(t *testing.T) {
	gw := start(t, setup{authenticate: true})
	for gw, want := range map[*gateway]int{gw: 3, shared(t): 0} {
		found := 0
		for _, k := range ask[*kmsg.ApiVersionsResponse](gw.dial(t), apiVersions(3)).ApiKeys {
			if k.ApiKey == 17 || k.ApiKey == 29 || k.ApiKey == 36 {
				found++
			}
		}
		if found != want {
			t.Errorf("%d are advertised, not %d", found, want)
		}
	}
}

// Bad logins from many addresses neither keep a good client out nor stay in memory. Real connections are some hundreds here; what
// 160,000 of them leave in the table of penalties is sasl's to test.
func TestBadLoginsFromEverywhere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("all of 127.0.0.0/8 is one's own on Linux only")
	}
	gw := start(t, setup{authenticate: true, gate: func(cfg *sasl.Config) { cfg.RejectionDelay = 50 * time.Millisecond }})
	const bad, atOnce = 400, 50
	var left, refused atomic.Int32
	left.Store(bad)
	var flood sync.WaitGroup
	for range atOnce {
		flood.Go(func() {
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				user := "nobody" // no hash for Iggy to compute
				if i%4 == 0 {
					user = "iggy"
				}
				code, err := badLogin(t.Context(), gw.addr, net.IPv4(127, byte(1+i%7), byte(i>>8), byte(1+i%251)), user)
				if err != nil {
					t.Errorf("login %d: %v", i, err)
				} else if code == 58 {
					refused.Add(1)
				}
			}
		})
	}
	for range 5 {
		begun := time.Now()
		gw.dial(t).login("iggy", "iggy")
		if took := time.Since(begun); took > patience/2 {
			t.Errorf("a good login took %v", took)
		}
	}
	flood.Wait()
	if refused.Load() != bad {
		t.Errorf("%d of %d were refused", refused.Load(), bad)
	}
	until(t, "connections are closed", func() bool { return gw.server.Stats().Closed[server.AuthenticationFailed] == bad })
	gw.dial(t).login("iggy", "iggy")
}

// badLogin comes from an address and returns the error code that it is told.
func badLogin(ctx context.Context, addr string, from net.IP, user string) (code int16, err error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	nc, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	format := kmsg.NewRequestFormatter()
	token := saslToken(user, "wrong")
	if _, err := nc.Write(append(format.AppendRequest(nil, saslHandshake(1), 1), format.AppendRequest(nil, token, 2)...)); err != nil {
		return 0, err
	}
	var rest []byte
	for range 2 {
		var size [4]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			return 0, err
		}
		rest = make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(nc, rest); err != nil {
			return 0, err
		}
	}
	resp := token.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	if err := resp.ReadFrom(rest[5:]); err != nil {
		return 0, fmt.Errorf("%x: %w", rest, err)
	}
	return resp.ErrorCode, nil
}
