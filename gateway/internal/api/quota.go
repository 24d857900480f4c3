// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Quotas (KIP-219): who is above its rate is answered at once, told for how long it is throttled, and not read for so long.

// anonymous is whom everybody is while there is no authentication (KafkaPrincipal.ANONYMOUS).
const anonymous = "ANONYMOUS"

// rated is whose rates a request counts to.
type rated struct{ user, clientID string }

func (a *API) rated(conn *server.Conn, r *wire.Request) rated {
	who := rated{user: anonymous}
	if p := conn.Principal(); p != nil {
		who.user = p.Name()
	}
	if r.Header.ClientID != nil { // none is an empty one (RequestHeader.parse)
		who.clientID = *r.Header.ClientID
	}
	return who
}

// chargeProduce counts a Produce request, also one that is answered with errors or not at all, and returns what its answer says of
// throttling, in ms. It does so as the request begins and not, as a broker does, with its answer: a broker does not read the
// next request before that, and this gateway does.
func (a *API) chargeProduce(conn *server.Conn, r *wire.Request) int32 {
	who := a.rated(conn, r)
	throttle := a.quotas.Produced(who.user, who.clientID, r.Size, time.Now())
	if throttle > 0 {
		conn.Mute(throttle)
		a.counts.throttledProduces.Add(1)
		a.noteThrottled(who, "produce", throttle)
	}
	return int32(throttle.Milliseconds())
}

// limitTo asks for no more than the client's rate lets through at once.
func (f *fetchRun) limitTo(client rated) {
	most := f.api.quotas.FetchMax(client.user, client.clientID)
	if most == math.MaxInt {
		return
	}
	f.client, f.quota = client, true
	f.req.MaxBytes = int32(min(int(f.req.MaxBytes), most))
	f.req.MinBytes = int32(min(int(f.req.MinBytes), most))
}

// responseLength is what a broker adds to the size of an answer's body (FetchResponse.sizeOf).
const responseLength = 4

// charge counts the answer as it is about to be given. If that is too much it returns the one to give instead, which has no
// partitions, and of which the session, if there is one, learns nothing.
func (f *fetchRun) charge() (instead *kmsg.FetchResponse, err error) {
	if !f.quota {
		return nil, nil
	}
	for i := range f.items {
		it := &f.items[i]
		it.Omit = f.session.Omits(&it.Part, it.outcome())
	}
	_, size := f.encode()
	throttle, ok := f.api.quotas.Fetched(f.client.user, f.client.clientID, size+responseLength, time.Now())
	if throttle > 0 {
		f.conn.Mute(throttle)
		f.api.counts.throttledFetches.Add(1)
		f.api.noteThrottled(f.client, "fetch", throttle)
	}
	if ok {
		f.throttle = throttle
		return nil, nil
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ThrottleMillis = f.req.Version, int32(throttle.Milliseconds())
	resp.SessionID, err = f.session.Withhold()
	return resp, err
}
