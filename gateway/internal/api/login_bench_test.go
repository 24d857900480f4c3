// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

// iggyCheck is what a login costs an Iggy 0.8 server: an Argon2 hash, on one of its processors.
const iggyCheck = 45 * time.Millisecond

// visitor is a principal of no consequence.
type visitor struct{}

func (visitor) Name() string { return "visitor" }
func (visitor) Release()     {}

// elsewhere is an Iggy on another machine with processors enough: whoever asks waits for the hash, and it costs nothing here.
func elsewhere(check time.Duration) sasl.Authenticator {
	return func(ctx context.Context, _ string, password []byte) (sasl.Principal, error) {
		clear(password)
		select {
		case <-time.After(check):
			return visitor{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// loginTargets are what logins are measured against: the embedded server in this process, whose hash costs processor time here;
// an Iggy elsewhere; and nobody at all, which leaves the gateway's own cost and the client's.
func loginTargets() map[string]sasl.Authenticator {
	return map[string]sasl.Authenticator{"embedded": nil, "elsewhere": elsewhere(iggyCheck), "free": elsewhere(0)}
}

// The user who logs in.
const benchUser, benchPassword = "somebody", "somebody's password"

// startForLogins returns a gateway where a user can log in. The embedded server's own user would not do: his password
// is in the settings, and hashed cheaply.
func startForLogins(b *testing.B, authenticator sasl.Authenticator, atOnce int) *gateway {
	gw := start(b, setup{authenticate: true, gate: func(cfg *sasl.Config) {
		cfg.Concurrent = atOnce
		if authenticator != nil {
			cfg.Authenticator = authenticator
		}
	}})
	root := (&iggytest.Server{Addr: gw.iggy.Addr().String(), Username: "iggy", Password: "iggy"}).Dial(b)
	root.NewUser(benchUser, benchPassword, nil)
	return gw
}

// connect logs in by the shortest way, ApiVersions left out, and returns the connection.
func connect(addr string) (net.Conn, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	_ = nc.SetDeadline(time.Now().Add(2 * patience))
	if err := authenticateOn(nc); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

func authenticateOn(nc net.Conn) error {
	format := kmsg.NewRequestFormatter()
	for _, req := range []kmsg.Request{saslHandshake(1), saslToken(benchUser, benchPassword)} {
		if _, err := nc.Write(format.AppendRequest(nil, req, 1)); err != nil {
			return err
		}
		var head [4]byte
		if _, err := io.ReadFull(nc, head[:]); err != nil {
			return err
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(nc, rest); err != nil {
			return err
		}
		if code := int16(binary.BigEndian.Uint16(rest[4+req.GetVersion()/2:])); code != 0 { // v2 has tags before it
			return fmt.Errorf("%s: error %d", kmsg.NameForKey(req.Key()), code)
		}
	}
	return nil
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkLogin: clients connect, log in and leave, 32 at a time. Processor time is that of all in the process: the clients, the
// gateway, and the embedded server where it is the target.
func BenchmarkLogin(b *testing.B) {
	for name, authenticator := range loginTargets() {
		for _, atOnce := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("%s/slots=%d", name, atOnce), func(b *testing.B) {
				gw := startForLogins(b, authenticator, atOnce)
				b.ResetTimer()
				before := processorTime()
				var left atomic.Int64
				left.Store(int64(b.N))
				var clients sync.WaitGroup
				for range 32 {
					clients.Go(func() {
						for left.Add(-1) >= 0 {
							nc, err := connect(gw.addr)
							if err != nil {
								b.Error(err)
								return
							}
							nc.Close()
						}
					})
				}
				clients.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "logins/s")
				b.ReportMetric(float64((processorTime()-before).Microseconds())/1000/float64(b.N), "cpu-ms/login")
				b.StopTimer()
			})
		}
	}
}

// BenchmarkStorm: 1,000 clients connect at the same moment, as after a restart of the gateway, and stay. An operation is all of
// them.
func BenchmarkStorm(b *testing.B) {
	const clients = 1000
	for name, authenticator := range loginTargets() {
		for _, atOnce := range []int{2, 4, 16} {
			b.Run(fmt.Sprintf("%s/slots=%d", name, atOnce), func(b *testing.B) {
				gw := startForLogins(b, authenticator, atOnce)
				b.ResetTimer()
				before := processorTime()
				waits := make([]time.Duration, clients)
				for range b.N {
					storm(b, gw.addr, waits)
				}
				slices.Sort(waits)
				b.ReportMetric(waits[clients/2].Seconds(), "s/median")
				b.ReportMetric(waits[clients-1].Seconds(), "s/last")
				b.ReportMetric((processorTime()-before).Seconds()/float64(b.N), "cpu-s/storm")
				b.StopTimer()
			})
		}
	}
}

// storm notes how long each client took.
func storm(b *testing.B, addr string, waits []time.Duration) {
	conns := make([]net.Conn, len(waits))
	begin := make(chan struct{})
	var clients sync.WaitGroup
	for i := range waits {
		clients.Go(func() {
			<-begin
			begun := time.Now()
			nc, err := connect(addr)
			if err != nil {
				b.Error(err)
				return
			}
			conns[i], waits[i] = nc, time.Since(begun)
		})
	}
	close(begin)
	clients.Wait()
	for _, nc := range conns {
		if nc != nil {
			nc.Close()
		}
	}
}
