// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testQuotas holds clients to rates.
func testQuotas(t *testing.T, target *harness.Target) {
	for _, s := range []scenario{
		{"PB-74-answers", testThrottledAnswers},
		{"PB-74-franz-go", testThrottledClient},
		{"PB-74-kcat", testThrottledKcat},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // they wait
			s.run(t, target)
		})
	}
}

// PB-74: who is above its rate is answered at once and then not read (KIP-219), and its consumers get no records meanwhile. How long
// is a matter of the moment, so what is told of it is only whether. A rate is that of the last ten seconds, and so on a machine that
// is too busy for it everything is done again.
func testThrottledAnswers(t *testing.T, target *harness.Target) {
	for range 10 {
		if s, inTime := throttledAnswers(t, target); inTime {
			s.compare("quotas")
			return
		}
	}
	t.Fatal("the machine is too slow to be above a rate")
}

func throttledAnswers(t *testing.T, target *harness.Target) (s *transcript, inTime bool) {
	inTime = true
	// pace is for what has to be done within a rate's time.
	pace := func() (done func()) {
		begun := time.Now()
		return func() { inTime = inTime && time.Since(begun) < 9*time.Second }
	}
	s = newTranscript(t, target)
	p := &parity{transcript: s, topic: s.create("topic", 1)}
	const rate = 10_000
	var sets []func(float64)
	// limited is a connection of a client of its own: a broker remembers what one sent, also after its quota is gone.
	limited := func(key string) (conn *clients.Raw, set func(rate float64)) {
		t.Helper()
		conn = dialRaw(t, target)
		conn.ClientID = p.group("slow")
		set = func(rate float64) {
			t.Helper()
			p.setQuota(quotaEntity{"client-id": &conn.ClientID}, map[string]float64{key: rate})
		}
		set(rate)
		sets = append(sets, set)
		return conn, set
	}
	defer func() {
		for _, set := range sets {
			set(0)
		}
	}()
	// ask tells how long the client is throttled.
	ask := func(step string, conn *clients.Raw, req kmsg.Request) (kmsg.Response, time.Duration) {
		t.Helper()
		begun := time.Now()
		resp, err := conn.Ask(within(t, limit), req)
		throttled := time.Duration(0)
		if answer, ok := resp.(kmsg.ThrottleResponse); ok {
			millis, _ := answer.Throttle()
			throttled = time.Duration(millis) * time.Millisecond
			if took := time.Since(begun); throttled > time.Second && took >= throttled {
				t.Errorf("%s: answered after %v, throttled for %v", step, took, throttled)
			}
			if millis > 0 {
				resp.(interface{ SetThrottle(int32) }).SetThrottle(1)
			}
		}
		p.note(step, req, resp, err)
		return resp, throttled
	}
	large := func(version, acks int16, size int) *kmsg.ProduceRequest {
		req := produceRequest(version, p.topic, 0, one(string(bytes.Repeat([]byte("v"), size))))
		req.Acks = acks
		return req
	}
	const allowed, over = 9 * rate, 15_000 // of what may come at once, ten times the rate
	muted := func(conn *clients.Raw, since time.Time, throttled time.Duration) {
		t.Helper()
		ask("the next request on that connection", conn, metadataRequest(9))
		if took := time.Since(since); took < throttled*9/10 {
			t.Errorf("the connection was read after %v, throttled for %v", took, throttled)
		}
	}

	for _, version := range []int16{3, 9} {
		conn, _ := limited(producerRate)
		done := pace()
		ask("below the rate", conn, large(version, -1, allowed))
		begun := time.Now()
		_, throttled := ask("above it", conn, large(version, 1, over))
		done()
		muted(conn, begun, throttled)
	}
	conn, _ := limited(producerRate)
	begun := time.Now()
	if err := conn.Send(within(t, limit), large(9, 0, allowed+over)); err != nil {
		t.Fatal(err)
	}
	muted(conn, begun, 400*time.Millisecond)

	const small = 5 // where the small ones begin, six of which are fetched at a time
	for range 20 {
		p.quietly(large(9, -1, 10_000))
	}
	for _, version := range []int16{4, 11, 12} {
		conn, set := limited(consumerRate)
		fetch := func(session, epoch int32, offset int64) *kmsg.FetchRequest {
			req := fetchRequest(version, fetchFrom{p.topic, 0, offset})
			req.SessionID, req.SessionEpoch, req.MaxBytes = session, epoch, 60_000
			return req
		}
		// withoutRecords leaves out the records, which are cut in other ways.
		withoutRecords := func(step string, req *kmsg.FetchRequest) (id int32, throttled time.Duration) {
			t.Helper()
			resp, err := conn.Ask(within(t, limit), req)
			if answer, ok := resp.(*kmsg.FetchResponse); ok {
				id, throttled = answer.SessionID, time.Duration(answer.ThrottleMillis)*time.Millisecond
				answer.ThrottleMillis = min(answer.ThrottleMillis, 1)
				for i := range answer.Topics {
					if some := &answer.Topics[i].Partitions[0].RecordBatches; len(*some) > 0 {
						*some = nil
					}
				}
			}
			p.note(step, req, resp, err)
			return id, throttled
		}
		done := pace()
		if version < 7 {
			withoutRecords("below the rate", fetch(0, -1, small))
			begun := time.Now()
			_, throttled := withoutRecords("above it", fetch(0, -1, small+6))
			done()
			muted(conn, begun, throttled)
			continue
		}
		id, _ := withoutRecords("below the rate", fetch(0, 0, small))
		begun := time.Now()
		_, throttled := withoutRecords("above it", fetch(id, 1, small+6))
		muted(conn, begun, throttled)
		set(1e12)
		goOn := fetch(id, 2, 0)
		goOn.Topics = nil
		withoutRecords("the session goes on, at another rate", goOn)
		set(rate / 10)
		withoutRecords("a new session, above the rate", fetch(0, 0, small+6))
		done()
	}
	return s, inTime
}

// throttles counts how often a client was throttled.
type throttles struct{ n atomic.Int32 }

// OnBrokerThrottle is called by the client.
func (h *throttles) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) {
	if d > 0 {
		h.n.Add(1)
	}
}

// testThrottledClient writes and reads with a client that is throttled: everything arrives, in order, and nothing is sent twice.
func testThrottledClient(t *testing.T, target *harness.Target) {
	const rate, records, size = 200_000, 600, 4_000 // 12 seconds' worth, of which 10 come at once
	s := newTranscript(t, target)
	topic := s.create("topic", 1)
	name := topicName(t)
	by := quotaEntity{"client-id": &name}
	s.setQuota(by, map[string]float64{producerRate: rate, consumerRate: rate})
	defer s.setQuota(by, map[string]float64{producerRate: 0, consumerRate: 0})

	throttled := new(throttles)
	producer, err := kgo.NewClient(kgo.SeedBrokers(target.Kafka), kgo.ClientID(name), kgo.WithHooks(throttled), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(100_000), kgo.DefaultProduceTopic(topic.name))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	value := bytes.Repeat([]byte("v"), size)
	sent := make([]*kgo.Record, records)
	for i := range sent {
		sent[i] = &kgo.Record{Value: value}
	}
	for i, result := range producer.ProduceSync(within(t, limit), sent...) {
		if result.Err != nil || result.Record.Offset != int64(i) {
			t.Fatalf("record %d: offset %d, %v", i, result.Record.Offset, result.Err)
		}
	}
	if throttled.n.Load() == 0 {
		t.Error("the producer was not throttled")
	}

	throttled = new(throttles)
	consumer, err := kgo.NewClient(kgo.SeedBrokers(target.Kafka), kgo.ClientID(name), kgo.WithHooks(throttled), kgo.FetchMaxBytes(1_000_000),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic.name: {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	ctx := within(t, limit)
	for next := int64(0); next < records; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next || !bytes.Equal(r.Value, value) {
				t.Errorf("offset %d came, %d was due", r.Offset, next)
			}
			next++
		})
	}
	if throttled.n.Load() == 0 {
		t.Error("the consumer was not throttled")
	}
}

// testThrottledKcat is the same with librdkafka, which does not say that it is throttled: that shows in how long it takes at least.
func testThrottledKcat(t *testing.T, target *harness.Target) {
	requireTool(t, "kcat")
	const rate, records, size = 100_000, 600, 2_000 // 12 seconds' worth, of which 10 come at once
	s := newTranscript(t, target)
	topic := s.create("topic", 1)
	name := topicName(t)
	by := quotaEntity{"client-id": &name}
	s.setQuota(by, map[string]float64{producerRate: rate, consumerRate: rate})
	defer s.setQuota(by, map[string]float64{producerRate: 0, consumerRate: 0})

	k := kcat{target.Kafka}
	client := []string{"-X", "client.id=" + name}
	lines := strings.Repeat(strings.Repeat("v", size)+"\n", records)
	// It ends with the last answer, so what it waits for is that the one before is paid for: requests are small for that.
	k.timed(t, time.Second/2, lines, append(client, "-P", "-t", topic.name, "-X", "batch.size=20000", "-X", "max.in.flight=1")...)
	got := k.timed(t, time.Second/2, "", append(client, "-C", "-t", topic.name, "-o", "beginning", "-e", "-X", "fetch.max.bytes=200000", "-X", "message.max.bytes=200000")...)
	if got != lines {
		t.Errorf("%d bytes came, %d were sent", len(got), len(lines))
	}
}

// timed runs kcat, which must take a while.
func (k kcat) timed(t *testing.T, least time.Duration, stdin string, args ...string) string {
	t.Helper()
	begun := time.Now()
	out := k.run(t, stdin, args...)
	if took := time.Since(begun); took < least {
		t.Errorf("it took %v", took)
	}
	return out
}
