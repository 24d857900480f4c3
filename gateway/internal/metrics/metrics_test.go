// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/mirror"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// stats is a source that says what it was made with.
type stats[T any] struct{ now T }

func (s stats[T]) Stats() T { return s.now }

type seen func(context.Context) (*overview.Snapshot, error)

func newTestMetrics() *Metrics {
	return New(buildinfo.Info{Version: "v1.2.3", Commit: "abc", Go: "go1.26"}, wire.NewTable(wire.ServeAll()), slog.New(slog.DiscardHandler))
}

// full is what a gateway with something of everything tells.
func full() *Metrics {
	m := newTestMetrics()
	frames := budget.New(1 << 20)
	frames.TryAcquire(1000)
	m.Watch(
		Readiness(admin.NewReadiness([]admin.Check{
			{Name: "iggy", Ready: func(context.Context) error { return nil }},
			{Name: "consumer groups", Ready: func(context.Context) error { return errors.New("loading") }},
		}, nil)),
		Server(stats[server.Stats]{server.Stats{
			Open: 3, Accepted: 10, Limit: 100, Closed: map[server.CloseCause]uint64{server.PeerClosed: 6, server.TooManyConnections: 1},
		}}),
		API(stats[api.Stats]{api.Stats{
			ThrottledProduces: 1, ThrottledFetches: 2, Unmappable: 6,
			FetchSessions: fetchsession.Stats{Sessions: 7, Partitions: 8, Limit: 1000, Evicted: 9},
			Fetching:      budget.Stats{Used: 10, Limit: 11, Waiting: 12, Waits: 13, Denials: 14},
		}}),
		Logins(stats[sasl.Stats]{sasl.Stats{Accepted: 3, Refused: 4, Unavailable: 5}}),
		Bridge(stats[bridge.Stats]{bridge.Stats{
			Lanes: 1, Queued: 2, Sends: 3, Batches: 4, Messages: 5, Bytes: 6, Duplicates: 7, UnknownOutcomes: 8,
			SendCalls: bridge.Calls{Count: 3, Took: 6 * time.Second}, PollCalls: bridge.Calls{Count: 1}, OtherCalls: bridge.Calls{Count: 2},
			Connections: bridge.Connections{Control: 1, Writes: 2, Reads: 3, UserWrites: 4, UserReads: 5, NativeGroups: 6},
			Dials:       9, FailedDials: 10, Losses: 11, Topics: 12, Hidden: 13, Refreshes: 14, FailedRefreshes: 15,
			Producers: 16, ProducerEvictions: 17,
		}}),
		State(stats[state.Stats]{state.Stats{
			Loaded: true, Failures: 1, Checkpoints: 2, Disagreements: 3, Rebalances: 4,
			Partitions: []statelog.PartitionStats{
				{Entries: 10, Since: 1, Checkpoint: time.Unix(2000, 0), Queued: 5}, {Entries: 20, Since: 2, Checkpoint: time.Unix(1000, 0)}, {},
			},
		}}),
		Mirror(stats[mirror.Stats]{mirror.Stats{Waiting: 1, Copied: 2, Failed: 3, Dropped: 4}}),
		Budget("frame", frames),
		Groups(func(context.Context) (*overview.Snapshot, error) {
			now := time.Now()
			return &overview.Snapshot{
				Time: now, TopicsStatus: overview.Status{AsOf: now}, GroupsStatus: overview.Status{AsOf: now},
				Groups: []overview.Group{
					{ID: "billing", State: "Stable", Members: make([]overview.Member, 2), Offsets: []overview.Offset{
						{Topic: "orders", Partition: 0, Committed: 5, End: 12, Lag: 7}, {Topic: "orders", Partition: 1, Committed: 3, End: -1, Lag: -1},
					}},
					{ID: "idle", State: "Empty"},
				},
			}, nil
		}),
	)
	for _, api := range wire.NewTable(wire.ServeAll()).APIs() {
		m.Observer().Finished(server.Exchange{
			Key: api.Key, Version: api.Max, Answered: true, In: 100, Out: 200,
			Stages: server.Stages{
				Queue: 1, Decode: time.Microsecond, Parked: time.Second, Iggy: time.Millisecond, Encode: time.Microsecond, Write: time.Minute,
			},
		})
	}
	return m
}

func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(full().gatherer(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every family is told, with the labels that it says it has, and nothing else is but what the library tells of Go and the process.
func TestFamilies(t *testing.T) {
	families, err := full().gatherer(t.Context()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Family{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		all[f.GetName()] = Family{f.GetName(), Type(strings.ToLower(f.GetType().String())), labels, f.GetHelp()}
	}
	want := map[string]Family{}
	for _, f := range Families() {
		want[f.Name] = f
	}
	sorted := cmp.Transformer("sorted", func(labels []string) map[string]bool {
		set := map[string]bool{}
		for _, l := range labels {
			set[l] = true
		}
		return set
	})
	if diff := cmp.Diff(want, all, sorted); diff != "" {
		t.Errorf("families (-said +told):\n%s", diff)
	}
}

// told returns the lines of a scrape that begin with one of the prefixes.
func told(t *testing.T, m *Metrics, prefixes ...string) string {
	t.Helper()
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if r.Code != http.StatusOK {
		t.Fatalf("status %d: %s", r.Code, r.Body)
	}
	var lines strings.Builder
	for line := range strings.Lines(r.Body.String()) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(line, prefix) {
				lines.WriteString(line)
			}
		}
	}
	return lines.String()
}

func TestScrape(t *testing.T) {
	for _, test := range []struct{ family, want string }{
		{"iggy_kafka_build_info", `iggy_kafka_build_info{goversion="go1.26",revision="abc",version="v1.2.3"} 1
`},
		{"iggy_kafka_read", `iggy_kafka_readiness_check{check="consumer groups"} 0
iggy_kafka_readiness_check{check="iggy"} 1
iggy_kafka_ready 0
`},
		{"iggy_kafka_consumer_group_", `iggy_kafka_consumer_group_lag{group="billing",partition="0",topic="orders"} 7
iggy_kafka_consumer_group_members{group="billing",state="Stable"} 2
iggy_kafka_consumer_group_members{group="idle",state="Empty"} 0
iggy_kafka_consumer_group_rebalances_total 4
iggy_kafka_consumer_group_series_omitted 0
`},
		{"iggy_kafka_consumer_groups{", `iggy_kafka_consumer_groups{state="CompletingRebalance"} 0
iggy_kafka_consumer_groups{state="Empty"} 1
iggy_kafka_consumer_groups{state="PreparingRebalance"} 0
iggy_kafka_consumer_groups{state="Stable"} 1
`},
		{`iggy_kafka_iggy_request_duration_seconds_sum{request="send"`, `iggy_kafka_iggy_request_duration_seconds_sum{request="send"} 6
`},
		{"iggy_kafka_state_log_", `iggy_kafka_state_log_checkpoint_timestamp_seconds 1000
iggy_kafka_state_log_checkpoints_total 2
iggy_kafka_state_log_disagreements_total 3
iggy_kafka_state_log_failures_total 1
iggy_kafka_state_log_fenced 0
iggy_kafka_state_log_loaded 1
iggy_kafka_state_log_queued_bytes 5
iggy_kafka_state_log_records 30
iggy_kafka_state_log_records_since_checkpoint 3
`},
		{"iggy_kafka_memory_budget_used_bytes", `iggy_kafka_memory_budget_used_bytes{budget="fetch"} 10
iggy_kafka_memory_budget_used_bytes{budget="frame"} 1000
`},
		{`iggy_kafka_requests_total{api="Produce"`, `iggy_kafka_requests_total{api="Produce",error="NONE",version="13"} 1
`},
		{`iggy_kafka_request_duration_seconds_count{api="Fetch"`, `iggy_kafka_request_duration_seconds_count{api="Fetch"} 1
`},
		{`iggy_kafka_connections_closed_total{cause="too`, `iggy_kafka_connections_closed_total{cause="too_many_connections"} 1
`},
	} {
		if diff := cmp.Diff(test.want, told(t, full(), test.family)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.family, diff)
		}
	}
}

// What nobody watches is not told.
func TestNoSources(t *testing.T) {
	want := `iggy_kafka_build_info{goversion="go1.26",revision="abc",version="v1.2.3"} 1
`
	if diff := cmp.Diff(want, told(t, newTestMetrics(), "iggy_kafka")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingToTell(t *testing.T) {
	var m *Metrics
	m.Watch()
	if m.Observer() != nil || m.Handler() != nil {
		t.Error("no metrics have an observer or a handler")
	}
}

// groupsSeen is a snapshot of groups that each have so many offsets.
func groupsSeen(ids []string, offsets int) seen {
	s := &overview.Snapshot{GroupsStatus: overview.Status{AsOf: time.Now()}, TopicsStatus: overview.Status{AsOf: time.Now()}}
	for _, id := range ids {
		g := overview.Group{ID: id, State: "Stable", Offsets: make([]overview.Offset, offsets)}
		for i := range g.Offsets {
			g.Offsets[i] = overview.Offset{Topic: "t", Partition: int32(i)}
		}
		s.Groups = append(s.Groups, g)
	}
	return func(context.Context) (*overview.Snapshot, error) { return s, nil }
}

func TestGroupSeriesAreBounded(t *testing.T) {
	var ids []string
	for i := range 30 {
		ids = append(ids, fmt.Sprintf("g%02d", i))
	}
	m := newTestMetrics()
	m.Watch(Groups(groupsSeen(ids, 999))) // 1000 series each
	if n := strings.Count(told(t, m, "iggy_kafka_consumer_group_members", "iggy_kafka_consumer_group_lag"), "\n"); n != MaxGroupSeries {
		t.Errorf("%d series, want %d", n, MaxGroupSeries)
	}
	if got, want := told(t, m, "iggy_kafka_consumer_group_series_omitted"), "iggy_kafka_consumer_group_series_omitted 20000\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := told(t, m, `iggy_kafka_consumer_groups{state="Stable"`), "iggy_kafka_consumer_groups{state=\"Stable\"} 30\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// No name that a client chooses breaks a scrape.
func TestOddNames(t *testing.T) {
	m := newTestMetrics()
	m.Watch(Groups(groupsSeen([]string{"", "a\nb", `c"d\e`, strings.Repeat("l", 257), "\xff\xfe", "ü"}, 1)))
	want := `iggy_kafka_consumer_group_members{group="",state="Stable"} 0
iggy_kafka_consumer_group_members{group="a\nb",state="Stable"} 0
iggy_kafka_consumer_group_members{group="c\"d\\e",state="Stable"} 0
iggy_kafka_consumer_group_members{group="ü",state="Stable"} 0
iggy_kafka_consumer_group_series_omitted 4
`
	if diff := cmp.Diff(want, told(t, m, "iggy_kafka_consumer_group_members", "iggy_kafka_consumer_group_series")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := m.gatherer(t.Context()).Gather(); err != nil {
		t.Error(err)
	}
}

func TestGroupsThatAreNotKnown(t *testing.T) {
	for _, look := range []seen{
		func(context.Context) (*overview.Snapshot, error) { return nil, context.DeadlineExceeded },
		func(context.Context) (*overview.Snapshot, error) {
			return &overview.Snapshot{GroupsStatus: overview.Status{Err: errors.New("loading")}}, nil
		},
	} {
		m := newTestMetrics()
		m.Watch(Groups(look))
		if got := told(t, m, "iggy_kafka_consumer"); got != "" {
			t.Errorf("told of groups:\n%s", got)
		}
	}
}
