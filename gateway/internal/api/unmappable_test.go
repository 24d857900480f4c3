// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// unmappableMessage is a message that no rule makes a record of.
type unmappableMessage struct {
	name, reason         string
	payload, userHeaders []byte
}

// unmappableMessages are the rows of testdata/unmappable.jsonl, made by another program from the rules of the mapping.
func unmappableMessages(tb testing.TB) []unmappableMessage {
	tb.Helper()
	f, err := os.Open("testdata/unmappable.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	var all []unmappableMessage
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct {
			Name    string
			Message struct {
				Payload     string
				UserHeaders string `json:"user_headers"`
			}
			Error string
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			tb.Fatal(err)
		}
		all = append(all, unmappableMessage{row.Name, row.Error, unhex(row.Message.Payload), unhex(row.Message.UserHeaders)})
	}
	return all
}

// A message that cannot be mapped never stops a consumer, wherever it lies: it is served as it is, with a header that says
// why, and counted; offsets go on, and what is around it is whole.
func TestUnmappableMessages(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	bad := unmappableMessages(t)
	if len(bad) < 8 {
		t.Fatalf("%d messages", len(bad))
	}
	for _, m := range bad {
		t.Run(m.name, func(t *testing.T) {
			topic := gw.newTopic(t, 1)
			message := mapping.Message{Payload: m.payload, UserHeaders: m.userHeaders, OriginTimestamp: 1000}
			before := gw.api.Stats().Unmappable
			// First, in the middle, alone in a send, several in a row, last.
			gw.sendMessages(t, topic, message)
			c.produce(topic, 0, batch("a", "b"))
			gw.sendMessages(t, topic, mapping.Message{Payload: []byte("native")}, message, message)
			c.produce(topic, 0, batch("c"))
			gw.sendMessages(t, topic, message)
			got := c.fetchAll(topic, 0)
			if len(got) != 8 {
				t.Fatalf("%d records", len(got))
			}
			for i, value := range []string{"", "a", "b", "native", "", "", "c", ""} {
				r := got[i]
				if value != "" {
					if string(r.value) != value || len(r.headers) > 0 {
						t.Errorf("record %d: %+v", i, r)
					}
					continue
				}
				if r.key != nil || !bytes.Equal(r.value, m.payload) || len(r.headers) != 1 ||
					r.headers[0].name != mapping.ErrorHeader || !strings.Contains(string(r.headers[0].value), m.reason) {
					t.Errorf("record %d: %+v, want the payload and a header that says %q", i, r, m.reason)
				}
			}
			if n := gw.api.Stats().Unmappable - before; n != 4 {
				t.Errorf("%d counted", n)
			}
			// A consumer that begins at each offset, with little room, goes on to the end.
			for from := range int64(8) {
				for offset := from; offset < 8; {
					got := c.fetchOne(part{topic: topic, offset: offset, maxBytes: 1})
					read := records(t, got.RecordBatches)
					if got.ErrorCode != 0 || len(read) == 0 || read[len(read)-1].offset < offset {
						t.Fatalf("from %d at %d: error %d, %+v", from, offset, got.ErrorCode, read)
					}
					offset = read[len(read)-1].offset + 1
				}
			}
			// It has a timestamp like any other.
			list := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(7, part{topic: topic, timestamp: 0}))
			if got := found(list); got[:2] != "0 " {
				t.Errorf("by timestamp: %s", got)
			}
		})
	}
	if !gw.logs.contains("messages that are no Kafka records served as they are") {
		t.Error("nothing logged")
	}
}
