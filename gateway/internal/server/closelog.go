// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/lograte"
)

// Log keys.
const (
	keyAPI        = "api"
	keyCause      = "cause"
	keyClient     = "client"
	keyClientID   = "client_id"
	keyConn       = "conn"
	keyIn         = "bytes_in"
	keyError      = "error"
	keyOpenFor    = "open_for"
	keyOut        = "bytes_out"
	keyRemote     = "remote"
	keyRequests   = "requests"
	keyRetryIn    = "retry_in"
	keyStack      = "stack"
	keySuppressed = "suppressed"
	keyUser       = "user"
	keyVersion    = "version"
)

// closeLogBurst is how many lines a second the log of closed connections has at most: a client that reconnects in a
// loop must not fill a disk.
const closeLogBurst = 20

// closeLog writes one line per closed connection, up to a rate. The first line of a second says how many were left
// out before it.
type closeLog struct {
	logger *slog.Logger
	limit  lograte.Limit
}

func newCloseLog(logger *slog.Logger) *closeLog {
	return &closeLog{logger: logger, limit: lograte.Limit{Burst: closeLogBurst}}
}

func (l *closeLog) closed(c *Conn, end closing) {
	ctx := context.Background()
	if !l.logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	now := time.Now()
	suppressed, ok := l.limit.Admit(now)
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.Uint64(keyConn, c.id), slog.Any(keyRemote, c.RemoteAddr())}
	if id := c.activity.clientID.Load(); id != nil && *id != "" {
		attrs = append(attrs, slog.String(keyClientID, *id))
	}
	if name, version := c.ClientSoftware(); name != "" {
		attrs = append(attrs, slog.String(keyClient, name+" "+version))
	}
	if c.user != "" {
		attrs = append(attrs, slog.String(keyUser, c.user))
	}
	attrs = append(attrs,
		slog.Any(keyCause, end.cause),
		slog.Uint64(keyRequests, c.requests.Load()),
		slog.Duration(keyOpenFor, now.Sub(c.opened)),
		slog.Int64(keyIn, c.activity.in.Load()),
		slog.Int64(keyOut, c.activity.out.Load()),
	)
	if end.err != nil {
		attrs = append(attrs, slog.Any(keyError, end.err))
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int(keySuppressed, suppressed))
	}
	l.logger.LogAttrs(ctx, slog.LevelInfo, "connection closed", attrs...)
}
