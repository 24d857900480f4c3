// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
)

const (
	producerRate = "producer_byte_rate"
	consumerRate = "consumer_byte_rate"
)

type entity = []kmsg.AlterClientQuotasRequestEntryEntity

func ofUser(name string) entity     { return entity{{Type: "user", Name: &name}} }
func ofClientID(name string) entity { return entity{{Type: "client-id", Name: &name}} }

// alterQuotas sets a rate of an entity, 0 to remove it.
func alterQuotas(e entity, key string, rate float64) *kmsg.AlterClientQuotasRequest {
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Version = 1
	addQuota(req, e, key, rate)
	return req
}

func addQuota(req *kmsg.AlterClientQuotasRequest, e entity, key string, rate float64) {
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	entry.Entity = e
	entry.Ops = []kmsg.AlterClientQuotasRequestEntryOp{{Key: key, Value: rate, Remove: rate == 0}}
	req.Entries = append(req.Entries, entry)
}

func (c *client) setQuota(e entity, key string, rate float64) {
	c.Helper()
	if got := ask[*kmsg.AlterClientQuotasResponse](c, alterQuotas(e, key, rate)).Entries[0]; got.ErrorCode != 0 {
		c.Fatalf("quota: code %d, %v", got.ErrorCode, *got.ErrorMessage)
	}
}

// quotasOf is what DescribeClientQuotas answers about everything, an entity on each line.
func quotasOf(c *client, version int16) string {
	c.Helper()
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Version = version
	var b strings.Builder
	for _, entry := range ask[*kmsg.DescribeClientQuotasResponse](c, req).Entries {
		for _, part := range entry.Entity {
			name := "default"
			if part.Name != nil {
				name = *part.Name
			}
			fmt.Fprintf(&b, "%s=%s ", part.Type, name)
		}
		for _, v := range entry.Values {
			fmt.Fprintf(&b, "%s:%v ", v.Key, v.Value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Quotas outlive the gateway, and each of a request's answers for itself.
func TestQuotasAreKept(t *testing.T) {
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	want := "client-id=app consumer_byte_rate:4 \nclient-id=default user=alice producer_byte_rate:2 consumer_byte_rate:3 \nuser=default producer_byte_rate:1 \n"
	for version := int16(0); version <= 1; version++ {
		gw, err := openGateway(setup{iggyAddr: iggy.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		c := gw.dial(t)
		if version == 0 {
			req := alterQuotas(entity{{Type: "user"}}, producerRate, 1)
			addQuota(req, append(ofUser("alice"), kmsg.AlterClientQuotasRequestEntryEntity{Type: "client-id"}), producerRate, 2)
			req.Entries[1].Ops = append(req.Entries[1].Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: consumerRate, Value: 3})
			addQuota(req, ofClientID("app"), consumerRate, 4)
			addQuota(req, ofClientID(strings.Repeat("n", quotas.MaxName+1)), consumerRate, 4)
			addQuota(req, ofClientID("bad"), consumerRate, -4)
			req.Version = version
			var codes []int16
			for _, entry := range ask[*kmsg.AlterClientQuotasResponse](c, req).Entries {
				codes = append(codes, entry.ErrorCode)
			}
			if diff := cmp.Diff([]int16{0, 0, 0, 42, 42}, codes); diff != "" {
				t.Error(diff)
			}
		}
		if got := quotasOf(c, version); got != want {
			t.Errorf("v%d: got\n%swant\n%s", version, got, want)
		}
		if err := gw.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Quotas that are being loaded are waited for.
func TestQuotasWhileLoading(t *testing.T) {
	driver, release := slowDriver(t)
	store := new(quotas.Memory)
	gw := start(t, setup{deps: func(deps *api.Deps) { deps.Groups, deps.Quotas = driver, store }})
	asks, other := gw.dial(t), gw.dial(t)
	asks.send(kmsg.NewPtrDescribeClientQuotasRequest())
	for range 20 { // of which the last is answered long after a request that waits for nothing
		ask[*kmsg.HeartbeatResponse](other, heartbeatRequest("g", "m", 1))
	}
	if err := store.SetQuota(t.Context(), "user=alice", map[string]string{producerRate: "7"}); err != nil {
		t.Fatal(err)
	}
	release()
	if got := next[*kmsg.DescribeClientQuotasResponse](asks); got.ErrorCode != 0 || len(got.Entries) != 1 {
		t.Errorf("code %d, %d quotas", got.ErrorCode, len(got.Entries))
	}
}

// Where they do not come, as the gateway stops, nobody is told that there are none.
func TestQuotasNotLoaded(t *testing.T) {
	driver, _ := slowDriver(t)
	gw := start(t, setup{deps: func(deps *api.Deps) { deps.Groups = driver }})
	c := gw.dial(t)
	c.send(kmsg.NewPtrDescribeClientQuotasRequest())
	gw.stop()
	if got := next[*kmsg.DescribeClientQuotasResponse](c); got.ErrorCode != codeLoading {
		t.Errorf("code %d", got.ErrorCode)
	}
}

// quotaStore is one that fails, or is full.
type quotaStore struct {
	quotas.Memory
	err error
}

func (s *quotaStore) SetQuota(ctx context.Context, key string, values map[string]string) error {
	if s.err != nil {
		return s.err
	}
	return s.Memory.SetQuota(ctx, key, values)
}

func TestQuotasThatCannotBeKept(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int16
	}{
		{coordinator.ErrNotAvailable, 7}, {coordinator.ErrNotCoordinator, 41}, {coordinator.ErrLoadInProgress, 41}, {errors.New("what"), 7},
	} {
		store := &quotaStore{err: tc.err}
		gw := start(t, setup{deps: func(d *api.Deps) { d.Quotas = store }})
		c := gw.dial(t)
		if got := ask[*kmsg.AlterClientQuotasResponse](c, alterQuotas(ofUser("u"), producerRate, 1)).Entries[0].ErrorCode; got != tc.code {
			t.Errorf("%v: code %d, want %d", tc.err, got, tc.code)
		}
	}
	store := &quotaStore{}
	for i := range quotas.MaxQuotas {
		_ = store.Memory.SetQuota(t.Context(), fmt.Sprint("user=", i), map[string]string{producerRate: "1000000"})
	}
	c := start(t, setup{deps: func(d *api.Deps) { d.Quotas = store }}).dial(t)
	req := alterQuotas(ofUser("one more"), producerRate, 1)
	for _, req.ValidateOnly = range []bool{true, false} {
		if got := ask[*kmsg.AlterClientQuotasResponse](c, req).Entries[0].ErrorCode; got != 44 {
			t.Errorf("one too many: code %d", got)
		}
	}
	c.setQuota(ofUser("7"), producerRate, 0)
	c.setQuota(ofUser("one more"), producerRate, 1)
}

// A gateway without Iggy has quotas that last as long as itself.
func TestQuotasDetached(t *testing.T) {
	c := start(t, setup{detached: true}).dial(t)
	c.setQuota(ofUser("u"), producerRate, 5)
	if got, want := quotasOf(c, 1), "user=u producer_byte_rate:5 \n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// soon is a throttling that a test waits for: time enough to tell it from none.
const soon = 50 * time.Millisecond

// sizedProduce is a request whose size is n with its header, as quotas count it.
func sizedProduce(c *client, topic string, n int) *kmsg.ProduceRequest {
	c.Helper()
	size := func(value int) (*kmsg.ProduceRequest, int) {
		req := produceRequest(part{topic: topic, records: batch(strings.Repeat("v", value))})
		req.Version = 9
		return req, len(kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.id)).AppendRequest(nil, req, 1)) - 4
	}
	value := n
	for range 10 {
		req, got := size(value)
		if got == n {
			return req
		}
		value -= got - n
	}
	c.Fatalf("no request of %d bytes", n)
	return nil
}

// throttledProduce is what a request above the rate is told, and how long its connection is held up by then.
func TestProduceIsThrottled(t *testing.T) {
	gw := start(t, setup{})
	setter, topic := gw.dial(t), "throttled"
	setter.create(topic, 1)
	const rate = 10_000
	for _, tc := range []struct {
		name string
		of   entity
		acks int16
	}{
		{"by client id", ofClientID("slow"), 1},
		{"by user", ofUser("ANONYMOUS"), 1},
		{"without acks", ofClientID("slow"), 0},
		{"both", append(ofUser("ANONYMOUS"), ofClientID("slow")...), -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			setter.setQuota(tc.of, producerRate, rate)
			defer setter.setQuota(tc.of, producerRate, 0) // and what was counted is forgotten
			c := gw.dial(t)
			c.id = "slow"
			req := sizedProduce(c, topic, rate*10+int(rate*soon/time.Second))
			req.Acks = tc.acks
			begun := time.Now()
			c.send(req)
			if tc.acks != 0 {
				resp := next[*kmsg.ProduceResponse](c)
				if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 || resp.ThrottleMillis != int32(soon/time.Millisecond) {
					t.Errorf("code %d, throttled for %d ms", code, resp.ThrottleMillis)
				}
			}
			ask[*kmsg.MetadataResponse](c, metadataRequest(9))
			if took := time.Since(begun); took < soon {
				t.Errorf("the next request was answered after %v", took)
			}
		})
	}
}

// A client that has logged in is held to its user's rate, on whatever connection.
func TestQuotaOfALogin(t *testing.T) {
	gw := start(t, setup{authenticate: true})
	dial := func() *client {
		c := gw.dial(t)
		c.login("iggy", "iggy")
		return c
	}
	setter, topic := dial(), "logged-in"
	setter.create(topic, 1)
	const rate = 10_000
	setter.setQuota(ofUser("ANONYMOUS"), producerRate, 1)
	setter.setQuota(ofUser("iggy"), producerRate, rate)
	for i, throttled := range []int32{0, int32(soon / time.Millisecond)} {
		c := dial()
		n := rate*10 - 10_000
		if i > 0 {
			n = 10_000 + int(rate*soon/time.Second)
		}
		if got := ask[*kmsg.ProduceResponse](c, sizedProduce(c, topic, n)).ThrottleMillis; got > throttled || (got > 0) != (throttled > 0) {
			t.Errorf("request %d: throttled for %d ms, want %d", i, got, throttled)
		}
	}
}

// Nobody else's rate is touched, and nothing is said of throttling where there is no quota.
func TestNotThrottled(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	c.create("free", 1)
	c.setQuota(ofClientID("slow"), producerRate, 1)
	c.setQuota(ofClientID("slow"), consumerRate, 1)
	for version := int16(3); version <= 12; version++ {
		req := produceRequest(part{topic: "free", records: batch("v")})
		req.Version = version
		if got := ask[*kmsg.ProduceResponse](c, req); got.ThrottleMillis != 0 {
			t.Errorf("produce v%d: %d ms", version, got.ThrottleMillis)
		}
	}
	for version := int16(4); version <= 12; version++ {
		if got := ask[*kmsg.FetchResponse](c, fetchRequestOf(version, part{topic: "free"})); got.ThrottleMillis != 0 || len(recordsIn(got)) == 0 {
			t.Errorf("fetch v%d: %d ms", version, got.ThrottleMillis)
		}
	}
}

// fetchRequestOf is fetchRequest of a version that names topics.
func fetchRequestOf(version int16, parts ...part) *kmsg.FetchRequest {
	req := fetchRequest(parts...)
	req.Version = version
	return req
}

// recordsIn are the bytes of the first partition's records.
func recordsIn(resp *kmsg.FetchResponse) []byte {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			return resp.Topics[i].Partitions[j].RecordBatches
		}
	}
	return nil
}

// A consumer above its rate is answered without records and without a session, and gets both when it has waited; an answer
// holds no more than what may come at once.
func TestFetchIsThrottled(t *testing.T) {
	gw := start(t, setup{})
	setter, topic := gw.dial(t), "fetched"
	setter.create(topic, 1)
	for range 30 {
		ask[*kmsg.ProduceResponse](setter, produceRequest(part{topic: topic, records: batch(strings.Repeat("v", 10_000))}))
	}
	const rate = 10_000
	setter.setQuota(ofClientID("slow"), consumerRate, rate)
	for _, version := range []int16{4, 11, 12} {
		c := gw.dial(t)
		c.id = "slow"
		req := fetchRequestOf(version, part{topic: topic})
		req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes, req.SessionEpoch = 50<<20, 50<<20, 0
		first := c.fetchInTime(req)
		if n := len(recordsIn(first)); n == 0 || n > 10*rate {
			t.Errorf("v%d: %d bytes of records", version, n)
		}
		if version >= 7 && first.SessionID == 0 {
			t.Errorf("v%d: no session", version)
		}
		req.Topics[0].Partitions[0].FetchOffset = 9
		req.SessionID, req.SessionEpoch = first.SessionID, 1
		begun := time.Now()
		over := ask[*kmsg.FetchResponse](c, req)
		throttled := time.Duration(over.ThrottleMillis) * time.Millisecond
		if throttled == 0 || len(over.Topics) != 0 || over.ErrorCode != 0 || over.SessionID != first.SessionID {
			t.Errorf("v%d: over the rate: throttled for %v, error %d, %d topics, session %d", version, throttled, over.ErrorCode, len(over.Topics), over.SessionID)
		}
		if took := time.Since(begun); took >= throttled {
			t.Errorf("v%d: answered after %v", version, took)
		}
		// Freed, it is still held up for what it was told: another connection is not.
		setter.setQuota(ofClientID("slow"), consumerRate, 1e12)
		free := gw.dial(t)
		free.id = "slow"
		if got := ask[*kmsg.FetchResponse](free, fetchRequestOf(version, part{topic: topic})); len(recordsIn(got)) == 0 {
			t.Errorf("v%d: nothing on another connection", version)
		}
		setter.setQuota(ofClientID("slow"), consumerRate, 0)
		setter.setQuota(ofClientID("slow"), consumerRate, rate)
	}
}

// fetchInTime asks until it is not throttled: what an answer has besides records may just be too much for one window.
func (c *client) fetchInTime(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	c.Helper()
	for {
		resp := ask[*kmsg.FetchResponse](c, req)
		if resp.ThrottleMillis == 0 {
			return resp
		}
		if len(resp.Topics) != 0 || resp.SessionID != 0 {
			c.Errorf("throttled for %d ms: %d topics, session %d", resp.ThrottleMillis, len(resp.Topics), resp.SessionID)
		}
	}
}

// A record that no window has room for comes all the same, and is paid for afterwards.
func TestFetchOfAHugeRecord(t *testing.T) {
	gw := start(t, setup{})
	c, topic := gw.dial(t), "huge"
	c.create(topic, 1)
	ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: batch(strings.Repeat("v", 10_000))}))
	c.setQuota(ofClientID("slow"), consumerRate, 500)
	slow := gw.dial(t)
	slow.id = "slow"
	got := ask[*kmsg.FetchResponse](slow, fetchRequestOf(11, part{topic: topic}))
	if !bytes.Contains(recordsIn(got), []byte(strings.Repeat("v", 10_000))) || got.ThrottleMillis < 9_000 {
		t.Errorf("%d bytes, throttled for %d ms", len(recordsIn(got)), got.ThrottleMillis)
	}
}
