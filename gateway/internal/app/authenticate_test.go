// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

// The whole gateway with logins: Iggy's user comes in, others do not, and in the end nothing is left running.
func TestAuthentication(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	addr, stop := start(t, load(t, "IGGY_KAFKA_SASL_ENABLED=true", "IGGY_KAFKA_SASL_SESSION_LIFETIME_SECS=60", "IGGY_KAFKA_SASL_REJECTION_DELAY_MS=1"))
	shake, metadata := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrMetadataRequest()
	shake.Version, shake.Mechanism = 1, "PLAIN"
	for _, test := range []struct {
		password string
		code     int16
		lifetime int64
	}{{"wrong", 58, 0}, {"iggy", 0, 60_000}} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		token := kmsg.NewPtrSASLAuthenticateRequest()
		token.Version, token.SASLAuthBytes = 1, []byte("\x00iggy\x00"+test.password)
		if test.code != 0 {
			token.SASLAuthBytes = []byte("\x00somebody\x00" + test.password) // whose penalty is not the other's
		}
		exchange[*kmsg.SASLHandshakeResponse](t, nc, shake)
		got := exchange[*kmsg.SASLAuthenticateResponse](t, nc, token)
		if got.ErrorCode != test.code || got.SessionLifetimeMillis != test.lifetime {
			t.Errorf("%s: %+v", test.password, got)
		}
		if test.code == 0 && len(exchange[*kmsg.MetadataResponse](t, nc, metadata).Brokers) != 1 {
			t.Error("no brokers")
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// exchange sends a request without flexible fields and returns its answer.
func exchange[R kmsg.Response](t *testing.T, nc net.Conn, req kmsg.Request) R {
	t.Helper()
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(nc, answer); err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(answer[4:]); err != nil {
		t.Fatal(err)
	}
	return resp.(R)
}
