// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/tls"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// Target is what a client is told of the servers that it shall use.
type Target struct {
	// Address is the bootstrap server, host:port.
	Address string
	// TLS is nil for plain connections. The name that a certificate must carry is the host that is connected to.
	TLS *tls.Config
	// User and Password are for SASL/PLAIN; an empty user logs in nowhere.
	User     string
	Password config.Secret
	// Own says that the user is the gateway's, which may do everything, and nobody that was named: without TLS it is not logged in
	// with anywhere but on this machine.
	Own bool
	// Admin is host:port of the gateway's admin listener; empty: it is not looked at.
	Admin string
	// Origin says where all this is from, for who reads the report.
	Origin string
}

// Options say what is examined, and how long that may take.
type Options struct {
	Target Target
	// Fault is why there is no Target; nil: there is one.
	Fault error
	// Topic is written to and read; empty: a topic is made for that and deleted again.
	Topic string
	// Probes is how often each latency is measured.
	Probes int
	// StepTimeout bounds each step, Timeout all of them together but for the cleanup.
	StepTimeout, Timeout time.Duration
	// Version is the doctor's own, which servers are told.
	Version string
}
