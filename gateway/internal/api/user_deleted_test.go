// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

// A user that has just been deleted is told to try again, and is closed then; it is not the gateway's own user that Iggy refuses.
func TestUserDeletedAMomentAgo(t *testing.T) {
	for name, code := range map[string]func(*client) int16{
		"fetch": func(c *client) int16 { return c.fetchOne(part{topic: "here"}).ErrorCode },
		"produce": func(c *client) int16 {
			return ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: "here", records: batch("v")})).Topics[0].Partitions[0].ErrorCode
		},
		"list offsets": func(c *client) int16 {
			return ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(7, part{topic: "here", timestamp: 0})).Topics[0].Partitions[0].ErrorCode
		},
		"create": func(c *client) int16 {
			return ask[*kmsg.CreateTopicsResponse](c, createRequest(5, newTopicSpec("new", 1, 1))).Topics[0].ErrorCode
		},
		"delete": func(c *client) int16 {
			return ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, "here")).Topics[0].ErrorCode
		},
	} {
		for _, clients := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				w := newPermitted(t, iggytest.Start(t), onStream(iggywire.StreamPermissions{ManageStream: true}), nil)
				c := w.login(t)
				for range clients - 1 {
					w.login(t)
				}
				c.produce("here", 0, batch("v"))
				if got := c.fetchOne(part{topic: "here"}).ErrorCode; got != 0 {
					t.Fatal(got)
				}
				w.root.Must(iggywire.DeleteUser{User: iggywire.NamedID(w.user)})
				if got := code(c); got != 6 && got != 7 {
					t.Errorf("%d clients: error %d, want a retriable one", clients, got)
				}
				if w.logs.contains("own user") {
					t.Errorf("the log blames the gateway's own user")
				}
			})
		}
	}
}
