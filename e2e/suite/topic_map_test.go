// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testTopicMap: a mapped topic lives under the name that the file gives it, the others in the file's default stream. The
// streams that the file names for single topics have to exist.
func testTopicMap(t *testing.T, kind harness.Kind, build func() (harness.Binaries, error)) {
	target := start(t, kind, build)
	if !target.Durable {
		t.Skip("its streams go when the gateway is given another file")
	}
	random := strings.ToLower(rand.Text()[:8])
	shop, rest := "shop-"+random, "rest-"+random
	if _, err := dialIggy(t, target).client.CreateStream(shop); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "topics.toml")
	text := fmt.Sprintf("default_stream = %q\n\n[topics.orders]\nstream = %q\ntopic = \"Orders of today\"\n", rest, shop)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := target.Gateway.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	target.Gateway.Set("IGGY_KAFKA_TOPIC_MAP_PATH=" + path)
	if err := target.Gateway.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	native := dialIggy(t, target)
	kafka := clients.Franz{Addr: target.Kafka}
	for _, test := range []struct{ kafkaName, stream, iggyName string }{
		{"orders", shop, "Orders of today"},
		{"payments", rest, "payments"},
	} {
		t.Run(test.kafkaName, func(t *testing.T) {
			if err := kafka.CreateTopic(within(t, limit), test.kafkaName, 1); err != nil {
				t.Fatal(err)
			}
			records := []clients.Record{{Timestamp: firstTimestamp, Value: []byte("from kafka")}}
			produce(t, kafka, clients.Destination{Topic: test.kafkaName, Codec: "none", Acks: clients.AcksAll}, records, 0)
			native.stream = identifier(t, test.stream)
			want := []nativeMessage{{0, firstTimestamp * 1000, "from kafka", nil}}
			if diff := cmp.Diff(want, native.poll(t, test.iggyName, 0, 10)); diff != "" {
				t.Errorf("topic %q of stream %q (-want +got):\n%s", test.iggyName, test.stream, diff)
			}
			message := native.message(t, "from iggy")
			native.send(t, test.iggyName, 0, message)
			records = append(records, clients.Record{Timestamp: int64(message.Header.OriginTimestamp / 1000), Value: []byte("from iggy")})
			expectRead(t, kafka, test.kafkaName, 0, at(0, records))
		})
	}
}
