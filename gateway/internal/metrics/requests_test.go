// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

func TestEndings(t *testing.T) {
	const produce, apiVersions = 0, 18
	for _, test := range []struct {
		name string
		ex   server.Exchange
		want string
	}{
		{"answered", server.Exchange{Key: produce, Version: 9, Answered: true}, `api="Produce",error="NONE",version="9"`},
		{"lowest version", server.Exchange{Key: produce, Version: 3, Answered: true}, `api="Produce",error="NONE",version="3"`},
		{"highest version", server.Exchange{Key: produce, Version: 13, Answered: true}, `api="Produce",error="NONE",version="13"`},
		{"an error", server.Exchange{Key: produce, Version: 9, Answered: true, Code: 6}, `api="Produce",error="NOT_LEADER_OR_FOLLOWER",version="9"`},
		{"the error -1", server.Exchange{Key: produce, Version: 9, Answered: true, Code: -1}, `api="Produce",error="UNKNOWN_SERVER_ERROR",version="9"`},
		{"an error that Kafka does not have", server.Exchange{Key: produce, Version: 9, Answered: true, Code: 999}, `api="Produce",error="OTHER",version="9"`},
		{"no answer", server.Exchange{Key: produce, Version: 9}, `api="Produce",error="connection_closed",version="9"`},
		{"an error and closed", server.Exchange{Key: produce, Version: 9, Code: 58}, `api="Produce",error="SASL_AUTHENTICATION_FAILED",version="9"`},
		{"a version above all", server.Exchange{Key: apiVersions, Version: 99, AboveMax: true, Answered: true, Code: 35}, `api="ApiVersions",error="UNSUPPORTED_VERSION",version="other"`},
	} {
		m := newTestMetrics()
		m.Observer().Finished(test.ex)
		want := fmt.Sprintf("iggy_kafka_requests_total{%s} 1\n", test.want)
		if diff := cmp.Diff(want, told(t, m, "iggy_kafka_requests_total")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// What the table does not serve is not counted, and breaks nothing.
func TestUnknownRequests(t *testing.T) {
	m := newTestMetrics()
	for _, ex := range []server.Exchange{{Key: 4}, {Key: 999}, {Key: -1}, {Key: 0, Version: 2}, {Key: 0, Version: 14}, {Key: 0, Version: -1}} {
		m.Observer().Finished(ex)
	}
	if got := told(t, m, "iggy_kafka_request"); got != "" {
		t.Errorf("counted:\n%s", got)
	}
}

func TestDurations(t *testing.T) {
	m := newTestMetrics()
	ex := server.Exchange{Key: 1, Version: 12, Answered: true, In: 60, Out: 1000}
	ex.Stages = server.Stages{Queue: 0, Decode: 100 * time.Microsecond, Iggy: 101 * time.Microsecond, Write: time.Minute}
	m.Observer().Finished(ex)
	ex.Stages.Parked = 500 * time.Millisecond
	m.Observer().Finished(ex)
	ex.Answered = false // its times say nothing
	m.Observer().Finished(ex)
	stage := func(name, suffix string) string {
		return fmt.Sprintf(`iggy_kafka_request_stage_duration_seconds_%s{api="Fetch",stage="%s"`, suffix, name)
	}
	got := told(t, m, "iggy_kafka_request_duration_seconds_count", "iggy_kafka_request_duration_seconds_sum",
		stage("queue", "sum"), stage("decode", `bucket`)+`,le="0.0001"`, stage("iggy", "bucket")+`,le="0.0001"`, stage("iggy", "bucket")+`,le="0.00025"`,
		stage("parked", "count"), stage("write", "bucket")+`,le="30"`, stage("write", "bucket")+`,le="+Inf"`, "iggy_kafka_request_bytes", "iggy_kafka_response_bytes")
	want := `iggy_kafka_request_bytes_total{api="Fetch"} 180
iggy_kafka_request_duration_seconds_sum{api="Fetch"} 120.500402
iggy_kafka_request_duration_seconds_count{api="Fetch"} 2
iggy_kafka_request_stage_duration_seconds_bucket{api="Fetch",stage="decode",le="0.0001"} 2
iggy_kafka_request_stage_duration_seconds_bucket{api="Fetch",stage="iggy",le="0.0001"} 0
iggy_kafka_request_stage_duration_seconds_bucket{api="Fetch",stage="iggy",le="0.00025"} 2
iggy_kafka_request_stage_duration_seconds_count{api="Fetch",stage="parked"} 1
iggy_kafka_request_stage_duration_seconds_sum{api="Fetch",stage="queue"} 0
iggy_kafka_request_stage_duration_seconds_bucket{api="Fetch",stage="write",le="30"} 0
iggy_kafka_request_stage_duration_seconds_bucket{api="Fetch",stage="write",le="+Inf"} 2
iggy_kafka_response_bytes_total{api="Fetch"} 3000
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBounds(t *testing.T) {
	all := bounds()
	if len(all) != buckets {
		t.Fatalf("%d bounds, want %d", len(all), buckets)
	}
	s := newScale()
	for i, b := range all {
		if i > 0 && b <= all[i-1] {
			t.Errorf("%v comes after %v", b, all[i-1])
		}
		if at := s.find(int64(b)); at != i {
			t.Errorf("%v is in bucket %d, not %d", b, at, i)
		}
		if at := s.find(int64(b) + 1); at != i+1 {
			t.Errorf("more than %v is in bucket %d, not %d", b, at, i+1)
		}
	}
}

func exchange() server.Exchange {
	return server.Exchange{
		Key: 0, Version: 9, Answered: true, In: 1 << 10, Out: 60,
		Stages: server.Stages{Queue: 200, Decode: 10 * time.Microsecond, Iggy: time.Millisecond, Encode: 300, Write: 20 * time.Microsecond},
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	r, ex := newRequests(wire.NewTable()), exchange()
	if n := testing.AllocsPerRun(100, func() { r.Finished(ex) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFinished(b *testing.B) {
	r, ex := newRequests(wire.NewTable()), exchange()
	b.ReportAllocs()
	for b.Loop() {
		r.Finished(ex)
	}
}

// All goroutines count the same API: the worst that can come.
func BenchmarkFinishedParallel(b *testing.B) {
	r, ex := newRequests(wire.NewTable()), exchange()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Finished(ex)
		}
	})
}

// What a scrape takes when everything was used.
func BenchmarkCollect(b *testing.B) {
	m := full()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.gatherer(b.Context()).Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
