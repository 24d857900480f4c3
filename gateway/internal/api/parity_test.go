// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// testdata/kafka-4.1.1.jsonl holds answers of a real Kafka 4.1.1 broker, node 1 of one: fields of kmsg's responses by
// name, "*" for a value that no two brokers share. Fields that a row does not have are not compared.

type parityRow struct {
	Chapter string
	Name    string
	Answer  any
}

func loadParity(t *testing.T, file, chapter string) map[string]any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := map[string]any{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row parityRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Chapter == chapter {
			rows[row.Name] = row.Answer
		}
	}
	return rows
}

// parity asks the same as the broker was asked, row by row in one story, and compares the answers.
type parity struct {
	*testing.T
	gw     *gateway
	client *client
	want   map[string]any
	// names are what placeholders like <A> stand for: the first value met.
	names map[string]string
}

func newParity(t *testing.T, chapter string) (*parity, *gateway) {
	gw := start(t, setup{})
	return newParityOf(t, gw, "testdata/kafka-4.1.1.jsonl", chapter), gw
}

func newParityOf(t *testing.T, gw *gateway, file, chapter string) *parity {
	p := &parity{t, gw, gw.dial(t), loadParity(t, file, chapter), map[string]string{}}
	t.Cleanup(func() {
		for name := range p.want {
			t.Errorf("%s: nobody asked", name)
		}
	})
	return p
}

// row asks, compares and returns the answer.
func (p *parity) row(name string, req kmsg.Request) kmsg.Response {
	p.Helper()
	p.client.send(req)
	resp := p.client.receive()
	p.compare(name, req, resp)
	return resp
}

// park asks on a connection of its own; the function that it returns waits for the answer and compares it.
func (p *parity) park(name string, req kmsg.Request) (answered func()) {
	p.Helper()
	c := p.gw.dial(p)
	c.id = p.client.id
	c.send(req)
	return func() {
		p.Helper()
		p.compare(name, req, c.receive())
	}
}

// waitFor asks until the answer is as wanted.
func (p *parity) waitFor(req *kmsg.DescribeGroupsRequest, wanted func(*kmsg.DescribeGroupsResponse) bool) {
	p.Helper()
	until(p.T, "the groups are as wanted", func() bool { return wanted(ask[*kmsg.DescribeGroupsResponse](p.client, req)) })
}

func (p *parity) compare(name string, req kmsg.Request, resp kmsg.Response) {
	p.Helper()
	name = fmt.Sprintf("%s %d: %s", kmsg.NameForKey(req.Key()), req.GetVersion(), name)
	want, ok := p.want[name]
	if !ok {
		p.Fatalf("%s: no such row", name)
	}
	delete(p.want, name)
	encoded, err := json.Marshal(resp)
	if err != nil {
		p.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(encoded, &got); err != nil {
		p.Fatal(err)
	}
	for _, fault := range p.differ("", want, got, nil) {
		p.Errorf("%s: %s", name, fault)
	}
}

// differ lists where got is not what want says.
func (p *parity) differ(path string, want, got any, faults []string) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return append(faults, fmt.Sprintf("%s: got %v, want a struct", path, got))
		}
		for name, v := range w {
			value, there := g[name]
			if !there {
				faults = append(faults, fmt.Sprintf("%s.%s: no such field", path, name))
				continue
			}
			faults = p.differ(path+"."+name, v, value, faults)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return append(faults, fmt.Sprintf("%s: got %v, want %d elements", path, got, len(w)))
		}
		for i := range w {
			faults = p.differ(fmt.Sprintf("%s[%d]", path, i), w[i], g[i], faults)
		}
	case string:
		if strings.HasPrefix(w, "<") && strings.HasSuffix(w, ">") {
			name := w
			if w = p.names[name]; w == "" {
				if w, _ = got.(string); w != "" {
					p.names[name] = w
				}
			}
		}
		if w != "*" && got != w {
			faults = append(faults, fmt.Sprintf("%s: got %q, want %q", path, got, w))
		}
	default:
		if got != want {
			faults = append(faults, fmt.Sprintf("%s: got %v, want %v", path, got, want))
		}
	}
	return faults
}

func TestParityOddRequests(t *testing.T) {
	p, gw := newParity(t, "odd")
	apiVersions := kmsg.NewPtrApiVersionsRequest()
	apiVersions.Version = 5
	p.row("version too high", apiVersions)

	gw.createTopic(t, "golden", 2)
	p.row("exists", createRequest(7, newTopicSpec("golden", 2, 1)))
	p.row("bad name", createRequest(7, newTopicSpec("a b", 1, 1)))
	p.row("0 partitions", createRequest(7, newTopicSpec("golden-missing", 0, 1)))
	p.row("bad config value", createRequest(7, withConfig(newTopicSpec("golden-missing", 1, 1), "retention.ms", kmsg.StringPtr("x"))))
	p.row("same topic twice in one request", createRequest(7, newTopicSpec("golden-missing", 1, 1), newTopicSpec("golden-missing", 1, 1)))

	p.row("missing topic", metadataRequest(1, "golden-missing"))
	p.row("missing topic", metadataRequest(13, "golden-missing"))
	p.row("missing topic id", metadataByID(13, [16]byte{1, 2, 3}))
	p.row("no topics (empty list)", metadataRequest(13))

	produce := func(partition int32, b []byte) *kmsg.ProduceRequest {
		return produceRequest(part{topic: "golden", partition: partition, records: b})
	}
	now := time.Now().UnixMilli()
	p.row("good", produce(0, stamped(now-4)))
	p.client.produce("golden", 0, stamped(now))
	p.row("missing partition", produce(9, batch("v")))
	p.row("wrong CRC", produce(0, wrongCRC(batch("v"))))
	acks := produce(0, batch("v"))
	acks.Acks = 2
	p.row("acks=2", acks)
	p.row("magic 1", produce(0, messageSetV1()))
	p.row("count says 2, holds 1", produce(0, changed(batch("v"), func(b []byte) { b[atCount+3] = 2 })))
	p.row("base offset 77", produce(0, changed(batch("v"), func(b []byte) { b[atBaseOffset+7] = 77 })))
	p.row("two batches in one partition", produce(0, append(batch("v"), batch("w")...)))
	p.row("records of length 0", produce(0, []byte{}))

	p.row("no transactional id", initProducerID(4, nil, -1, -1))
	p.row("sequence 0", produce(1, batchOf(batchForm{producer: &producer{id: 13}}, record{timestamp: 1, value: []byte("v")})))

	fetch := func(topic string, partition int32, offset int64) *kmsg.FetchRequest {
		return fetchRequest(part{topic: topic, partition: partition, offset: offset})
	}
	p.row("beyond the log end", fetch("golden", 0, 100))
	p.row("offset -5", fetch("golden", 0, -5))
	p.row("missing topic", fetch("golden-missing", 0, 0))
	p.row("missing partition", fetch("golden", 9, 0))

	list := func(version int16, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
		return listOffsetsRequest(version, part{topic: "golden", partition: partition, timestamp: timestamp})
	}
	p.row("earliest (-2)", list(6, 0, -2))
	p.row("latest (-1)", list(6, 0, -1))
	p.row("timestamp 1000", list(6, 0, 1000))
	p.row("timestamp in the future", list(6, 0, time.Now().Add(24*time.Hour).UnixMilli()))
	p.row("missing partition", list(6, 9, -1))
	p.row("max timestamp (-3)", list(7, 0, -3))

	p.row("group", findCoordinator(3, 0, "golden-group"))
	p.row("group", findCoordinator(6, 0, "golden-group"))
	p.row("empty key", findCoordinator(6, 0, ""))
	p.row("type 9", findCoordinator(6, 9, "golden-group"))

	p.row("missing topic", deleteRequest(5, "golden-missing"))
	p.row("missing topic id", deleteByID(kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{1, 2, 3}}))
	p.row("good", deleteRequest(5, "golden"))
}

func TestParityFetch(t *testing.T) {
	p, gw := newParity(t, "fetch")
	gw.createTopic(t, "golden2", 4)
	p.client.produce("golden2", 0, batch("v"))
	p.client.produce("golden2", 1, batch("v"))

	continued := fetchRequest(part{topic: "golden2"})
	continued.SessionEpoch = 5
	p.row("session 0, epoch 5", continued)

	both := fetchRequest(part{topic: "golden2", epoch: 1 + 5}, part{topic: "golden2", partition: 1})
	both.Version = 12
	p.row("current leader epoch 5 (newer than the broker's 0)", both)
	both.ReplicaID = 9
	both.ReplicaState.ID = 9
	p.row("replica id 9", both)
}

func TestParityListOffsets(t *testing.T) {
	p, gw := newParity(t, "offsets")
	gw.createTopic(t, "golden2", 4)
	p.client.produce("golden2", 0, stamped(2, 4, 6, 8))
	list := func(version int16, timestamp int64) *kmsg.ListOffsetsRequest {
		return listOffsetsRequest(version, part{topic: "golden2", timestamp: timestamp})
	}
	p.row("max timestamp (-3) before v7", list(6, -3))
	p.row("earliest local (-4) before v8", list(7, -4))
	p.row("earliest local (-4)", list(8, -4))
	p.row("latest tiered (-5) before v9", list(8, -5))
	p.row("latest tiered (-5)", list(9, -5))
	p.row("-6", list(10, -6))
	p.row("-99", list(10, -99))
	p.row("latest, current leader epoch 5", listOffsetsRequest(6, part{topic: "golden2", timestamp: -1, epoch: 1 + 5}))
	p.row("the partition twice", listOffsetsRequest(6, part{topic: "golden2", timestamp: -1}, part{topic: "golden2", timestamp: -2}))
	committed := list(6, -1)
	committed.IsolationLevel = 1
	p.row("latest, read committed", committed)
	follower := list(6, -1)
	follower.ReplicaID = 9
	p.row("replica id 9", follower)
	p.row("max timestamp (-3), empty partition", listOffsetsRequest(7, part{topic: "golden2", partition: 3, timestamp: -3}))
}

func TestParityProducers(t *testing.T) {
	p, gw := newParity(t, "producers")
	gw.createTopic(t, "golden2", 4)
	id := ask[*kmsg.InitProducerIDResponse](p.client, initProducerID(4, nil, -1, -1)).ProducerID
	p.row("P and epoch 0 named: another id, epoch 0", initProducerID(4, nil, id, 0))
	p.row("P named, epoch -1", initProducerID(4, nil, id, -1))

	p.client.produce("golden2", 2, batch("v"))
	noSequence := batchOf(batchForm{producer: &producer{id: id, sequence: -1}}, record{timestamp: 1, value: []byte("v")})
	p.row("sequence -1", produceRequest(part{topic: "golden2", partition: 2, records: noSequence}))
	p.row("a good and a missing partition", produceRequest(
		part{topic: "golden2", partition: 3, records: batch("v")}, part{topic: "golden2", partition: 9, records: batch("v")}))
}

func TestParityTopics(t *testing.T) {
	p, gw := newParity(t, "topics")
	golden2 := gw.createTopic(t, "golden2", 4)
	software := func(name, version string) *kmsg.ApiVersionsRequest {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, name, version
		return req
	}
	p.row("client software name empty", software("", "1.0"))
	p.row("client software version `1.0-`", software("test", "1.0-"))

	acks := produceRequest(part{topic: "golden2", partition: 3, records: batch("v")}, part{topic: "golden2-missing", records: batch("v")})
	acks.Acks = 2
	p.row("acks=2, a known and a missing topic", acks)

	p.row("by topic id before v12", metadataByID(11, golden2.ID))
	noNames := metadataRequest(12, "golden2-missing")
	noNames.Topics = append(noNames.Topics, kmsg.NewMetadataRequestTopic())
	p.row("topic by name and zero id; null name and zero id", noNames)
	p.row("the same topic twice", metadataRequest(12, "golden2-missing", "golden2-missing"))

	p.row("no keys", findCoordinator(6, 0))
	p.row("the same key twice", findCoordinator(6, 0, "g", "g"))
	p.row("type 2 (share), v6", findCoordinator(6, 2, "g"))
	p.row("type 2 (share), v5", findCoordinator(5, 2, "g"))
	p.row("type 9, v3", findCoordinator(3, 9, "g"))

	p.row("replication factor 0", createRequest(7, newTopicSpec("golden2-missing", 1, 0)))
	p.row("partitions -2", createRequest(7, newTopicSpec("golden2-missing", -2, 1)))
	validated := createRequest(3, newTopicSpec("golden2-missing", -1, 1))
	validated.ValidateOnly = true
	p.row("partitions -1 on v3", validated)
	p.row("manual assignment and a partition count", createRequest(7, withAssignment(newTopicSpec("golden2-missing", 1, 1), 0)))
	p.row("manual assignment to an unknown broker", createRequest(7, withNode(withAssignment(newTopicSpec("golden2-missing", -1, -1), 0), 7)))
	p.row("manual assignment with a hole", createRequest(7, withAssignment(newTopicSpec("golden2-missing", -1, -1), 0, 2)))
	p.row("config value null", createRequest(7, withConfig(newTopicSpec("golden2-missing", 1, 1), "retention.ms", nil)))

	named := func(name string) kmsg.DeleteTopicsRequestTopic {
		return kmsg.DeleteTopicsRequestTopic{Topic: kmsg.StringPtr(name)}
	}
	both := named("golden2")
	both.TopicID = golden2.ID
	p.row("neither name nor id; name and id; a name twice",
		deleteByID(named("golden2-missing"), both, kmsg.DeleteTopicsRequestTopic{}, named("golden2-missing")))
}
