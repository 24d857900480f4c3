// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"
)

// Config says how to reach one Iggy server and within which bounds. Zero values of the optional fields take the
// defaults named beside them.
type Config struct {
	// Addr is host:port of Iggy's TCP listener. TLS, when not nil, wraps every connection; without a ServerName the host
	// of Addr must be in the server's certificate.
	Addr string
	TLS  *tls.Config
	// Username and Password are the gateway's own Iggy user.
	Username, Password string

	// Names maps Kafka topic names to Iggy streams and topics. The default stream is created when it is missing; the
	// others must exist, unless CreateStreams is set.
	Names         *Names
	CreateStreams bool
	// InternalTopics are Kafka topic names that clients may read and not change.
	InternalTopics []string

	// MaxWriteConnections bounds the connections that carry writes, of all users together (256), MaxReadConnections those of each
	// user that carry polls (8), of which all other users than the gateway's own have MaxExtraReads (256) together beside one for
	// each. What there is to do without for IdleTimeout (10 min) closes.
	MaxWriteConnections, MaxReadConnections, MaxExtraReads int
	IdleTimeout                                            time.Duration
	// DialTimeout bounds connecting and signing in (5 s). CallTimeout is when a connection that owes an answer
	// counts as hung (10 s); callers' contexts end their own waiting earlier.
	DialTimeout, CallTimeout time.Duration
	// TokenPrefix begins the names of the personal access tokens with which connections of other users than the gateway's own are
	// opened, at most 16 bytes ("iggy-kafka"). Several gateways in front of one Iggy have each its own: those of its
	// predecessors are deleted. TokenLife is how long one is good for (1 h); it is replaced at half of that.
	TokenPrefix string
	TokenLife   time.Duration
	// MaxAnswerSize is the largest answer read, in bytes (128 MiB: two messages of the largest size).
	MaxAnswerSize int

	// TopicViewAge is how long names, ids and partition counts may be served from memory (1 s).
	TopicViewAge time.Duration
	// LaneIdle is when a lane with nothing to do goes (10 min); LaneQueue is how many batches one lane holds (4,096).
	LaneIdle  time.Duration
	LaneQueue int

	// Exclusive names the topics that nobody writes to but this gateway; nil: none. Internal ones never are: whoever keeps
	// state there learns from base offsets that somebody else does so, too. Appends to the others are not verified by a
	// poll while no connection to Iggy is lost, which saves one request per send. The trade: what somebody else does write
	// there, and a purge, gives wrong base offsets until the next connection is lost.
	Exclusive func(topic string) bool
	// ProducerExpiry is when an idempotent producer that does not write is forgotten (24 h); MaxProducers is how many pairs
	// of producer and partition are remembered in all (100,000), the least recently used of which goes first, but none that is
	// about to write.
	ProducerExpiry time.Duration
	MaxProducers   int
	// After a restart the producers of a partition are learnt from its last messages: those at most TailAge older than the
	// newest (2 min), at least TailMin (5,000) and at most TailMax messages (1,000,000), of which neither shall be more than
	// TailBytes in all (1 GiB), by their average size.
	TailAge          time.Duration
	TailMin, TailMax int
	TailBytes        int64

	// Retrying, unless nil, is told why Iggy cannot be used yet each time that Open is about to try again, which waits for it.
	Retrying func(why error)
	// Dial replaces the network: for a server within the process, and for tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Logger gets one line per connection lost and per fault worth an operator's eye.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	setDefault(&c.MaxWriteConnections, 256)
	setDefault(&c.MaxReadConnections, 8)
	setDefault(&c.MaxExtraReads, 256)
	setDefault(&c.IdleTimeout, 10*time.Minute)
	setDefault(&c.DialTimeout, 5*time.Second)
	setDefault(&c.CallTimeout, 10*time.Second)
	setDefault(&c.TokenPrefix, "iggy-kafka")
	setDefault(&c.TokenLife, time.Hour)
	setDefault(&c.MaxAnswerSize, 128<<20)
	setDefault(&c.TopicViewAge, time.Second)
	setDefault(&c.LaneIdle, 10*time.Minute)
	setDefault(&c.LaneQueue, 4096)
	setDefault(&c.ProducerExpiry, 24*time.Hour)
	setDefault(&c.MaxProducers, 100_000)
	setDefault(&c.TailAge, 2*time.Minute)
	setDefault(&c.TailMin, 5000)
	setDefault(&c.TailMax, 1_000_000)
	setDefault(&c.TailBytes, 1<<30)
	if c.Exclusive == nil {
		c.Exclusive = func(string) bool { return false }
	}
	if c.Retrying == nil {
		c.Retrying = func(error) {}
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// tlsFor names the server that the certificate must be for.
func (c *Config) tlsFor() *tls.Config {
	if c.TLS.ServerName != "" || c.TLS.InsecureSkipVerify {
		return c.TLS
	}
	named := c.TLS.Clone()
	if host, _, err := net.SplitHostPort(c.Addr); err == nil {
		named.ServerName = host
	}
	return named
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
