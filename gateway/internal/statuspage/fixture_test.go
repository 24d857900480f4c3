// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// world is a small gateway, made up. The tests that need it to be always the same run under testing/synctest.
type world struct {
	topics []*bridge.Topic
	bounds map[string][]bridge.Bounds
	groups []madeUp
	conns  []server.ConnectionInfo
	// iggy and coordinator are why they do not answer.
	iggy, coordinator error
}

type madeUp struct {
	id      string
	d       coordinator.Description
	offsets []coordinator.OffsetResult
}

func (w *world) TopicsWithin(context.Context, time.Duration) (*bridge.TopicView, error) {
	if w.iggy != nil {
		return nil, w.iggy
	}
	slices.SortFunc(w.topics, func(a, b *bridge.Topic) int { return strings.Compare(a.Name, b.Name) })
	return &bridge.TopicView{Topics: slices.Clone(w.topics), Hidden: 1}, nil
}

func (w *world) Bounds(_ context.Context, t *bridge.Topic) ([]bridge.Bounds, error) {
	return w.bounds[t.Name], w.iggy
}

func (w *world) List(context.Context, coordinator.Filter) ([]coordinator.Listing, error) {
	slices.SortFunc(w.groups, func(a, b madeUp) int { return strings.Compare(a.id, b.id) })
	var list []coordinator.Listing
	for _, g := range w.groups {
		list = append(list, coordinator.Listing{ID: g.id, Type: coordinator.TypeClassic, State: g.d.State, ProtocolType: g.d.ProtocolType})
	}
	return list, w.coordinator
}

func (w *world) Survey(_ context.Context, ids []string) (some []coordinator.Surveyed, rest []string, err error) {
	for _, g := range w.groups {
		if slices.Contains(ids, g.id) {
			some = append(some, coordinator.Surveyed{ID: g.id, Type: coordinator.TypeClassic, Description: g.d, Offsets: g.offsets})
		}
	}
	return some, nil, nil
}

// topic makes one, or gives it other bounds: pairs of the first offset and the next, of messages of 100 bytes.
func (w *world) topic(name string, pairs ...int64) *bridge.Topic {
	t := &bridge.Topic{
		Name: name, Partitions: int32(len(pairs) / 2), Iggy: bridge.IggyName{Stream: "kafka", Topic: name},
		MessageExpiry: iggywire.NeverExpire, MaxSize: iggywire.UnlimitedSize,
	}
	copy(t.ID[:], name)
	var all []bridge.Bounds
	for i := 0; i < len(pairs); i += 2 {
		start, next := pairs[i], pairs[i+1]
		all = append(all, bridge.Bounds{Start: start, Next: next, Bytes: 100 * (next - start), MessageSize: 100})
		t.Size, t.Messages = t.Size+uint64(100*(next-start)), t.Messages+uint64(next-start)
	}
	w.bounds[name] = all
	w.topics = slices.DeleteFunc(w.topics, func(old *bridge.Topic) bool { return old.Name == name })
	w.topics = append(w.topics, t)
	return t
}

// assignment is what a consumer is sent by its group's leader.
func assignment(topics map[string][]int32) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: name, Partitions: topics[name]})
	}
	return a.AppendTo(nil)
}

func offset(topic string, partition int32, committed int64) coordinator.OffsetResult {
	return coordinator.OffsetResult{TopicPartition: coordinator.TopicPartition{Topic: topic, Partition: partition}, Offset: committed}
}

// newWorld has something of everything.
func newWorld(now time.Time) *world {
	w := &world{bounds: map[string][]bridge.Bounds{}}
	w.topic("__iggy_kafka_state", 0, 40).Internal = true
	orders := w.topic("orders", 0, 1_204_551, 200, 1_100_000, 0, 0)
	orders.MessageExpiry, orders.MaxSize = uint64(7*24*time.Hour/time.Microsecond), 50<<30
	w.topic("payments.v2", 0, 12)
	w.topic("nothing-yet", 0, 0, 0, 0)
	w.groups = []madeUp{
		{"billing", coordinator.Description{
			State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range", Members: []coordinator.MemberDescription{
				{MemberID: "billing-2-f00d", ClientID: "billing-2", ClientHost: "/10.1.0.8", Assignment: assignment(map[string][]int32{"orders": {2}})},
				{MemberID: "billing-1-beef", InstanceID: "pod-0", ClientID: "billing-1", ClientHost: "/10.1.0.7", Assignment: assignment(map[string][]int32{
					"orders": {0, 1}, "payments.v2": {0}, "d": {0}, "e": {0, 1, 2, 5},
				})},
			},
		}, []coordinator.OffsetResult{offset("deleted", 0, 9), offset("orders", 0, 1_204_000), offset("orders", 1, 200), offset("payments.v2", 0, 12)}},
		{"", coordinator.Description{State: coordinator.Empty}, nil},
		{"nightly", coordinator.Description{State: coordinator.Empty, ProtocolType: "consumer"}, []coordinator.OffsetResult{offset("payments.v2", 0, 2)}},
		{"connect", coordinator.Description{State: coordinator.PreparingRebalance, ProtocolType: "connect", Members: []coordinator.MemberDescription{
			{MemberID: "w-1", ClientID: "", ClientHost: "/::1", Assignment: []byte("worker")},
		}}, nil},
	}
	w.conns = []server.ConnectionInfo{
		{
			ID: 1, Remote: "10.1.0.7:51234", Since: now.Add(-26 * time.Hour), ClientID: "billing-1", SoftwareName: "apache-kafka-java", SoftwareVersion: "4.1.1",
			Requests: 120_400, Last: server.Event{Key: 1, At: now.Add(-300 * time.Millisecond)},
			LastError: server.Event{Key: 12, Code: 27, At: now.Add(-61 * time.Second)},
		},
		{ID: 4, Remote: "[::1]:40000", TLS: true, User: "alice", Since: now},
	}
	return w
}

// config is that of a page of the world, on which nobody has to log in.
func (w *world) config(now func() time.Time) Config {
	seen := overview.New(w, w)
	return Config{
		Gateway: Gateway{
			Version: "v0.4.0", Build: "v0.4.0 abcdef go1.26.0 linux/amd64", NodeID: 3, ClusterID: "Y2x1c3Rlci1pZC0wMDAwMA", Started: now().Add(-90 * time.Minute),
			Iggy: "127.0.0.1:8090", Stream: "kafka",
			Listeners: []Listener{{"0.0.0.0:9093", "kafka.example:9093", false}, {"0.0.0.0:9094", "kafka.example:9094", true}},
		},
		Settings: []topicconfig.Setting{
			{Name: "IGGY_KAFKA_BIND_ADDR", Value: "0.0.0.0:9093", Doc: "Host and port that Kafka clients connect to."},
			{Name: "IGGY_KAFKA_ADVERTISED_HOST", Value: "", Default: true, Doc: "Host that clients are told to connect to."},
			{Name: "IGGY_KAFKA_MAX_CONNECTIONS", Value: "1024", Default: true, Doc: "Client connections at a time."},
			{Name: "IGGY_KAFKA_IGGY_PASSWORD", Secret: true, Doc: "Its password."},
		},
		APIs:        wire.NewTable().APIs(),
		Snapshot:    seen.Snapshot,
		Connections: func() []server.ConnectionInfo { return w.conns },
		Readiness:   w.readiness(nil).Ask,
		Now:         now,
		Hosts:       []string{"gateway.example"},
	}
}

func newPage(tb testing.TB, c Config) *Page {
	tb.Helper()
	p, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// readiness is that of the world, whose groups are there while its coordinator is.
func (w *world) readiness(stopping <-chan struct{}) *admin.Readiness {
	return admin.NewReadiness([]admin.Check{
		{Name: "consumer groups", Ready: func(context.Context) error {
			if w.coordinator != nil {
				return errors.New("loading")
			}
			return nil
		}},
		{Name: "iggy", Ready: func(context.Context) error {
			if w.iggy != nil {
				return errors.New("does not answer")
			}
			return nil
		}},
	}, stopping)
}

// paths are one of each page.
func paths() []string {
	return []string{"/", "/topics", "/topic?name=orders", "/groups", "/group?id=billing", "/clients", "/protocol", "/settings"}
}

// get asks for a page from this machine, by its address.
func get(h http.Handler, path string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:9094", "192.0.2.7:4711"
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// page is what is got, which has to be there.
func page(t *testing.T, h http.Handler, path string, edit ...func(*http.Request)) string {
	t.Helper()
	w := get(h, path, edit...)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// wantStatus asks for a page that is not to be had.
func wantStatus(t *testing.T, h http.Handler, status int, path string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	w := get(h, path, edit...)
	if w.Code != status {
		t.Errorf("%s: %d, want %d", path, w.Code, status)
	}
	return w
}

func as(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

// numbered makes many names that sort by their number.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return names
}
