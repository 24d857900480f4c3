// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/outcomes"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Handler answers requests.
type Handler interface {
	// Start begins one request and returns what waits for its answer.
	//
	// Calls for one connection come one at a time, in the order of its requests. For Produce and Fetch a call may
	// come while earlier requests of the connection are unanswered; for every other API only when all earlier
	// ones have their answers, as on Kafka. So what must happen in request order (for Produce: checks, decoding,
	// queuing on the partitions' lanes) belongs in Start, and what takes time in the Pending.
	//
	// req and all bytes that it refers to are the handler's until the Pending returns or calls Conn.GiveBack; nothing
	// may keep them longer. Strings of req.Body are copies and may be kept.
	Start(ctx context.Context, conn *Conn, req *wire.Request) Pending
}

// Pending waits for one answer. It is called once: for Produce, Fetch, JoinGroup, SyncGroup and SaslAuthenticate, whose answers
// may wait for other clients, on a goroutine of its own, for others on the one that reads the connection.
//
// ctx ends when the connection closes or when a shutdown's drain is over; the Pending must then return soon, its result is
// dropped. Only who has a goroutine of its own is told at once that the client is gone. An error means that the peer broke
// the protocol or cannot be answered: what was asked before is answered, then the connection closes. A Kafka failure is no
// error but an error code in the reply.
type Pending func(ctx context.Context) (Reply, error)

// Reply is one answer, or the decision to give none.
type Reply struct {
	kind    replyKind
	resp    kmsg.Response
	raw     net.Buffers
	rawSize int
	release func() // may be nil
	last    closing
	code    int16 // the first error code in the answer; see findCode
	// What the handler says of the time that it took: see Spent.
	parked, encoded time.Duration
}

// Spent says for how long the Pending waited for what is up to other clients, and for how long it made bytes of the answer. The
// rest of its time counts as Iggy's.
func (r Reply) Spent(parked, encoded time.Duration) Reply {
	r.parked, r.encoded = parked, encoded
	return r
}

// findCode finds the first error code in an answer that is not in bytes yet.
func (r *Reply) findCode() {
	if r.kind != rawReply {
		r.code = outcomes.Of(r.resp)
	}
}

// ThenClose is r, behind which the connection is closed for that cause. err is what lies behind it.
func (r Reply) ThenClose(cause CloseCause, err error) Reply {
	r.last = closing{cause, err}
	return r
}

type replyKind uint8

const (
	noReply       replyKind = iota
	message                 // resp, charged to the response budget by the server
	reservedReply           // resp, charged by the handler
	rawReply                // raw, charged by the handler
)

// NewReply answers with resp, encoded in the version that resp is set to. The server takes its size from the
// response budget once it is encoded.
func NewReply(resp kmsg.Response) Reply { return Reply{kind: message, resp: resp} }

// NewReservedReply is NewReply for an answer whose size the handler has taken from the response budget already.
// release is called once, when the answer has been written or dropped.
func NewReservedReply(resp kmsg.Response, release func()) Reply {
	return Reply{kind: reservedReply, resp: resp, release: release}
}

// RawReply answers with a body that is encoded already: bufs holds its size bytes, without length and response header, and code
// is the first error code in them. The server takes nothing from the response budget for it. bufs may not alias the
// request's frame; they are the server's until it calls release, once, when the answer has been written or dropped.
func RawReply(bufs net.Buffers, size int, code int16, release func()) Reply {
	return Reply{kind: rawReply, raw: bufs, rawSize: size, code: code, release: release}
}

// NoReply gives no answer at all: Produce with acks=0.
func NoReply() Reply { return Reply{} }
