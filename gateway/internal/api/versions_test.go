// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Every advertised version of every API is answered in its own layout, with Iggy and without.
func TestEveryVersionAnswers(t *testing.T) {
	for name, gw := range map[string]*gateway{"with iggy": shared(t), "detached": start(t, setup{detached: true})} {
		c := gw.dial(t)
		asked := 0
		for _, a := range wire.NewTable().APIs() {
			if !a.Served || a.Key == 36 { // which closes where nobody authenticates
				continue
			}
			for version := a.Min; version <= a.Max; version++ {
				req := kmsg.RequestForKey(a.Key)
				req.SetVersion(version)
				if p, ok := req.(*kmsg.ProduceRequest); ok {
					p.Acks = 1
				}
				if v, ok := req.(*kmsg.ApiVersionsRequest); ok {
					v.ClientSoftwareName, v.ClientSoftwareVersion = "test", "1"
				}
				if f, ok := req.(*kmsg.FindCoordinatorRequest); ok && version < 4 {
					f.CoordinatorKey = "group"
				}
				c.send(req)
				asked++
			}
		}
		for range asked {
			c.receive()
		}
		if asked < 60 {
			t.Errorf("%s: %d versions in all", name, asked)
		}
	}
}

// One version beside each range closes the connection, and no other.
func TestVersionsBesideTheRange(t *testing.T) {
	gw := shared(t)
	other := gw.dial(t)
	for _, a := range wire.NewTable().APIs() {
		if !a.Served {
			continue
		}
		for _, version := range []int16{a.Min - 1, a.Max + 1, -1} {
			if a.Key == 18 && version > a.Max {
				continue
			}
			c := gw.dial(t)
			c.write([]byte{0, 0, 0, 10, byte(a.Key >> 8), byte(a.Key), byte(version >> 8), byte(version), 0, 0, 0, 1, 0xff, 0xff})
			c.expectClosed()
		}
	}
	for _, key := range []int16{24, 25, 84, 501, 10001, 32767, -1} {
		c := gw.dial(t)
		c.write([]byte{0, 0, 0, 10, byte(key >> 8), byte(key), 0, 0, 0, 0, 0, 1, 0xff, 0xff})
		c.expectClosed()
	}
	if got := ask[*kmsg.ApiVersionsResponse](other, apiVersions(3)); got.ErrorCode != 0 {
		t.Errorf("another connection: error %d", got.ErrorCode)
	}
}
