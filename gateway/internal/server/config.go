// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Config says how a Server treats its connections. Every field but Authentication and Observer is required.
type Config struct {
	Table  *wire.Table
	Logger *slog.Logger

	// MaxConnections is how many connections are held at once; one more is closed as soon as it is accepted.
	MaxConnections int
	// MaxInFlight is how many requests of one connection may be read and not yet answered.
	MaxInFlight int
	// MaxFrameSize bounds, in bytes, a request of the APIs that carry much; wire.Limits bounds the others.
	MaxFrameSize int32
	// MaxResponseSize bounds one answer, in bytes; a larger one closes the connection.
	MaxResponseSize int64

	// FrameBudget is charged for each frame above 64 KiB before it is read, until its request is answered.
	FrameBudget *budget.Budget
	// DecodeBudget is charged for what a request's decoding allocates, until it is answered.
	DecodeBudget *budget.Budget
	// ResponseBudget is charged for each encoded answer until it is written, unless the handler did so.
	ResponseBudget *budget.Budget

	// Authentication is nil where clients do not authenticate.
	Authentication *Authentication
	// Observer is told of every request; nil: nobody is.
	Observer Observer

	// IdleTimeout closes a connection that has begun no frame and waits for no answer.
	IdleTimeout time.Duration
	// ReadTimeout bounds the reading of one frame from its first byte on, and a TLS handshake.
	ReadTimeout time.Duration
	// WriteTimeout bounds the writing of one answer, and its wait for the response budget.
	WriteTimeout time.Duration
}

// Listener is where connections come from, with the address that clients are told to use for it.
type Listener struct {
	net.Listener
	AdvertisedHost string
	AdvertisedPort int32
}
