// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/tls"
	"errors"
	"time"
)

// Config says how a [Server] listens and where it keeps its data. The zero value
// of a field means its default.
type Config struct {
	// Addr is the host:port to listen on; port 0 takes any free one.
	// Default 127.0.0.1:0.
	Addr string

	// DataDir is the folder that holds everything; it is created if missing, and
	// one server at a time may use it. Required unless InMemory is set.
	DataDir string

	// InMemory keeps everything in memory, and nothing after Close.
	InMemory bool

	// NoFsync answers writes before they reach the disk or even the operating
	// system: a process that is killed may lose what it acknowledged last. Close
	// loses nothing.
	NoFsync bool

	// TLS, if set, is how connections are secured; only TLS is spoken then.
	TLS *tls.Config

	// SegmentSize is how many bytes of messages a partition gathers before it seals
	// them as a segment: retention takes away whole sealed segments only. A topic's
	// maximum size may not be below it. Default 1 GiB, as in a real server.
	SegmentSize uint64

	// CleanerInterval is how often segments are looked for that have outlived
	// their topic's message expiry or its maximum size; negative: never. Default
	// one minute, a real server's interval. Unlike here, its cleaner is off unless
	// it is configured: but only a topic that was given an expiry or a size is
	// ever cleaned, and who gives it one to a server that nobody configured, on a
	// disk that nobody watches, means it.
	CleanerInterval time.Duration

	// LoseUnflushed is a test mode for clients. A real server that is killed has
	// lost, when it comes back, acknowledged messages of each partition: those
	// since it last flushed, which it does per 1,024 messages, 1 MiB or segment. With
	// LoseUnflushed a start on the folder of a killed server loses them, too, if it
	// ran with LoseUnflushed itself. Close and FlushUnsavedBuffer lose nothing.
	LoseUnflushed bool

	// Now tells the time. Default time.Now.
	Now func() time.Time

	// Username and Password are those of the root user. Default iggy, iggy. They
	// hold for every start: a changed password replaces the one before.
	Username, Password string

	// MaxConnections bounds the open connections; a further one is closed at
	// once. Default 1,024.
	MaxConnections int

	// MaxSendSize bounds the body of one send in bytes; a longer one is refused
	// and its connection closed. Default 128 MiB.
	MaxSendSize int

	// IOTimeout is how long a peer may stall in the middle of a request or while
	// an answer is written to it. Between requests a connection may rest for
	// ever. Default 30 s.
	IOTimeout time.Duration
}

func (c Config) withDefaults() Config {
	setDefault(&c.Addr, "127.0.0.1:0")
	setDefault(&c.Username, "iggy")
	setDefault(&c.Password, "iggy")
	setDefault(&c.MaxConnections, 1024)
	setDefault(&c.MaxSendSize, 128<<20)
	setDefault(&c.IOTimeout, 30*time.Second)
	setDefault(&c.SegmentSize, 1<<30)
	setDefault(&c.CleanerInterval, time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	var faults []error
	if c.DataDir == "" && !c.InMemory {
		faults = append(faults, errors.New("neither a data folder nor in memory"))
	}
	if c.DataDir != "" && c.InMemory {
		faults = append(faults, errors.New("both a data folder and in memory"))
	}
	if !validUsername(c.Username) {
		faults = append(faults, errors.New("root user name is not 3 to 50 bytes"))
	}
	if !validPassword(c.Password) {
		faults = append(faults, errors.New("root password is not 3 to 100 bytes"))
	}
	if c.LoseUnflushed && c.InMemory {
		faults = append(faults, errors.New("memory loses everything, not only what was not flushed"))
	}
	if c.MaxConnections < 0 || c.MaxSendSize < 0 || c.IOTimeout < 0 {
		faults = append(faults, errors.New("a limit is negative"))
	}
	return errors.Join(faults...)
}
