// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// testSecuredAddresses: each listener tells its clients its own address, in every answer that tells one.
func testSecuredAddresses(t *testing.T, login, mutual *secured) {
	app := clients.Security{User: appUser, Password: appPassword}
	for _, w := range []way{
		{login.Kafka, app}, {login.tls, login.overTLS(t, app)},
		{mutual.Kafka, clients.Security{}}, {mutual.tls, mutual.overTLS(t, clients.Security{})},
	} {
		client := franz(t, w.addr, secure(w.security)...)
		metadata, coordinator, cluster := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrFindCoordinatorRequest(), kmsg.NewPtrDescribeClusterRequest()
		coordinator.CoordinatorKey, coordinator.CoordinatorKeys = "group", []string{"group"}
		ctx := within(t, limit)
		var told []string
		add := func(host string, port int32) { told = append(told, net.JoinHostPort(host, fmt.Sprint(port))) }
		if resp, err := metadata.RequestWith(ctx, client); err != nil {
			t.Error(err)
		} else {
			add(resp.Brokers[0].Host, resp.Brokers[0].Port)
		}
		if resp, err := coordinator.RequestWith(ctx, client); err != nil {
			t.Error(err)
		} else {
			add(resp.Coordinators[0].Host, resp.Coordinators[0].Port)
		}
		if resp, err := cluster.RequestWith(ctx, client); err != nil {
			t.Error(err)
		} else {
			add(resp.Brokers[0].Host, resp.Brokers[0].Port)
		}
		if diff := cmp.Diff([]string{w.addr, w.addr, w.addr}, told); diff != "" {
			t.Errorf("%s at %s: told are (-want +got):\n%s", w.security.Protocol(), w.addr, diff)
		}
	}
}

// secure is how franz-go is told.
func secure(s clients.Security) []kgo.Opt {
	var opts []kgo.Opt
	if secret := s.TLS(); secret != nil {
		opts = append(opts, kgo.DialTLSConfig(secret))
	}
	if s.User != "" {
		opts = append(opts, kgo.SASL(plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()))
	}
	return opts
}

// disconnects counts the connections that a client has lost.
type disconnects struct{ n atomic.Int64 }

func (d *disconnects) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { d.n.Add(1) }

// testReload replaces the gateway's certificate under load: who comes then is shown the new one, who is there does not
// notice, and a file that is broken changes nothing.
func testReload(t *testing.T, s *secured) {
	security := s.overTLS(t, clients.Security{})
	topic := topicName(t)
	if err := (clients.Franz{Addr: s.tls, Security: security}).CreateTopic(within(t, limit), topic, 1); err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", s.tls, security.TLS())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}

	lost := &disconnects{}
	opts := append(secure(security), kgo.WithHooks(lost))
	writer, reader := franz(t, s.tls, opts...), franz(t, s.tls, append(opts, kgo.ConsumeTopics(topic))...)
	var written, read atomic.Int64
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for ctx := t.Context(); ; {
			select {
			case <-stop:
				return
			default:
			}
			if err := writer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("value")}).FirstErr(); err != nil {
				t.Errorf("writing: %v", err)
				return
			}
			written.Add(1)
		}
	})
	running.Go(func() {
		ctx := within(t, 2*limit)
		for stopped := false; !stopped || read.Load() < written.Load(); {
			fetches := reader.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Errorf("reading: %v", err)
				return
			}
			read.Add(int64(fetches.NumRecords()))
			select {
			case <-stop:
				stopped = true
			default:
			}
		}
	})
	flows := func() {
		t.Helper()
		enough := written.Load() + 100
		if !await(t, func() bool { return written.Load() > enough && read.Load() > enough || t.Failed() }) {
			t.Fatal("nothing is written or read any more")
		}
	}
	hangUp := func(line string) {
		t.Helper()
		seen := strings.Count(gatewayLog(t, s.Target), line)
		if err := syscall.Kill(s.Gateway.PID(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if !await(t, func() bool { return strings.Count(gatewayLog(t, s.Target), line) > seen }) {
			t.Fatalf("no %q in the log", line)
		}
	}

	flows()
	first := serial()
	s.issue(t, "gateway", "127.0.0.1", "localhost")
	hangUp("tls certificate read")
	flows()
	second := serial()
	if second == first {
		t.Error("new connections are shown the old certificate")
	}
	if err := os.WriteFile(s.cert.Cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp("tls files are at fault")
	flows()
	if got := serial(); got != second {
		t.Error("a broken file has changed the certificate")
	}
	close(stop)
	running.Wait()
	if n := lost.n.Load(); n > 0 {
		t.Errorf("%d connections were lost", n)
	}
	if !t.Failed() {
		t.Logf("%d records were written and read meanwhile", written.Load())
	}
}
