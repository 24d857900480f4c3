// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// iggyOverTLS puts TLS in front of an embedded Iggy. It returns where, and how many connections have come in.
func iggyOverTLS(t *testing.T, config *tls.Config) (addr string, connections *atomic.Int64) {
	t.Helper()
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	connections = &atomic.Int64{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			outside, err := l.Accept()
			if err != nil {
				return
			}
			inside, err := iggy.Dial(t.Context(), "", "")
			if err != nil {
				outside.Close()
				continue
			}
			connections.Add(1)
			for from, to := range map[net.Conn]net.Conn{outside: inside, inside: outside} {
				running.Go(func() {
					io.Copy(to, from)
					to.Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		l.Close()
		if err := iggy.Close(); err != nil {
			t.Error(err)
		}
		running.Wait()
	})
	return l.Addr().String(), connections
}

// TestLoginsOverIggyTLS: the connections that clients' logins make are spoken to as the gateway's own are, over TLS, with the
// authority and the name that are set.
func TestLoginsOverIggyTLS(t *testing.T) {
	authority := tlstest.NewAuthority(t, "authority")
	pair := authority.Issue(t, "iggy", time.Now().Add(time.Hour), "iggy.example")
	addr, connections := iggyOverTLS(t, &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}})
	ca := tlstest.Write(t, filepath.Join(t.TempDir(), "ca.pem"), authority.PEM)
	r := run(t, load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=iggy", "IGGY_KAFKA_IGGY_ADDR="+addr,
		"IGGY_KAFKA_IGGY_TLS_ENABLED=true", "IGGY_KAFKA_IGGY_TLS_DOMAIN=iggy.example", "IGGY_KAFKA_IGGY_TLS_CA_FILE="+ca,
		"IGGY_KAFKA_SASL_ENABLED=true"))
	r.line("passwords cross the network in the clear") // to the gateway
	nc, err := net.Dial("tcp", r.addr(r.line("serving kafka clients")))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	own := connections.Load()

	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, "PLAIN"
	if resp := ask(t, nc, handshake).(*kmsg.SASLHandshakeResponse); resp.ErrorCode != 0 {
		t.Fatalf("SaslHandshake: %d", resp.ErrorCode)
	}
	token := kmsg.NewPtrSASLAuthenticateRequest()
	token.SASLAuthBytes = []byte("\x00iggy\x00iggy")
	if resp := ask(t, nc, token).(*kmsg.SASLAuthenticateResponse); resp.ErrorCode != 0 {
		t.Fatalf("SaslAuthenticate: %d", resp.ErrorCode)
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 3
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "made-over-tls", 1, 1
	create.Topics = append(create.Topics, topic)
	if resp := ask(t, nc, create).(*kmsg.CreateTopicsResponse); resp.Topics[0].ErrorCode != 0 {
		t.Errorf("CreateTopics as the client's user: %d", resp.Topics[0].ErrorCode)
	}
	if now := connections.Load(); now <= own {
		t.Errorf("%d connections before the login, %d after it: it took none of its own", own, now)
	}
}
