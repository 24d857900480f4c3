// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// However long a client's names are, little of them is kept while its connection is open.
func TestLittleIsKeptOfNames(t *testing.T) {
	long := strings.Repeat("n", 30_000)
	naming := func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		conn.SetClientSoftware(long, long)
		return now(NewReply(req.Body.ResponseKind()))
	}
	inBubble(t, testConfig(), naming, func(f *fixture) {
		c := f.dial()
		c.send(kmsg.NewRequestFormatter(kmsg.FormatterClientID(long)).AppendRequest(nil, metadata(), 1))
		c.expect(1)
		synctest.Wait()
		info := f.Connections()[0]
		for what, text := range map[string]string{
			"client id": info.ClientID, "software": info.SoftwareName, "version": info.SoftwareVersion,
		} {
			if want := long[:128] + "..."; text != want {
				t.Errorf("%d bytes of the %s are kept", len(text), what)
			}
		}
	})
}

// A client that does not change its id costs no memory with each request.
func TestTheSameIDAgain(t *testing.T) {
	var a activity
	for _, id := range []string{"client", strings.Repeat("n", 30_000)} {
		req := &wire.Request{Header: wire.Header{ClientID: &id}}
		a.begun(req, 1)
		kept := a.clientID.Load()
		if a.begun(req, 2); a.clientID.Load() != kept {
			t.Errorf("%d bytes: kept anew", len(id))
		}
	}
}
