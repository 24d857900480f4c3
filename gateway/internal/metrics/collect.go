// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/mirror"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
)

// Readiness tells whether the gateway is ready, in the words of /readyz.
func Readiness(r *admin.Readiness) Source {
	return func(ctx context.Context, e emitter, f *families) {
		report, err := r.Ask(ctx)
		if err != nil {
			return // nobody waits any more
		}
		for _, o := range report.Outcomes {
			e.is(f.check, o.Err == nil, o.Name)
		}
		e.is(f.ready, report.Ready())
	}
}

// stating makes a Source of what has Stats.
func stating[T any](part interface{ Stats() T }, collect func(e emitter, f *families, s T)) Source {
	return func(_ context.Context, e emitter, f *families) { collect(e, f, part.Stats()) }
}

// Server tells of connections.
func Server(s interface{ Stats() server.Stats }) Source { return stating(s, collectServer) }

// API tells of what handlers count.
func API(a interface{ Stats() api.Stats }) Source { return stating(a, collectAPI) }

// Logins tells of SASL logins, those to the status page included.
func Logins(g interface{ Stats() sasl.Stats }) Source { return stating(g, collectLogins) }

// Bridge tells of the way to Iggy.
func Bridge(b interface{ Stats() bridge.Stats }) Source { return stating(b, collectBridge) }

// State tells of the state log.
func State(s interface{ Stats() state.Stats }) Source { return stating(s, collectState) }

// Mirror tells of offsets that are copied to native groups.
func Mirror(m interface{ Stats() mirror.Stats }) Source { return stating(m, collectMirror) }

// Budget tells of a memory budget, by a name.
func Budget(name string, b interface{ Stats() budget.Stats }) Source {
	return stating(b, func(e emitter, f *families, s budget.Stats) { collectBudget(e, f, name, s) })
}

func collectServer(e emitter, f *families, s server.Stats) {
	e.put(f.connections, float64(s.Open))
	e.put(f.connectionLimit, float64(s.Limit))
	e.put(f.accepted, float64(s.Accepted))
	e.is(f.draining, s.Draining)
	for _, cause := range server.CloseCauses() {
		e.put(f.closed, float64(s.Closed[cause]), cause.String())
	}
}

func collectAPI(e emitter, f *families, s api.Stats) {
	e.put(f.throttled, float64(s.ThrottledProduces), "Produce")
	e.put(f.throttled, float64(s.ThrottledFetches), "Fetch")
	e.put(f.unmappable, float64(s.Unmappable))
	e.put(f.sessions, float64(s.FetchSessions.Sessions))
	e.put(f.sessionLimit, float64(s.FetchSessions.Limit))
	e.put(f.sessionPartitions, float64(s.FetchSessions.Partitions))
	e.put(f.sessionEvictions, float64(s.FetchSessions.Evicted))
	collectBudget(e, f, "fetch", s.Fetching)
}

func collectLogins(e emitter, f *families, s sasl.Stats) {
	e.put(f.logins, float64(s.Accepted), "accepted")
	e.put(f.logins, float64(s.Refused), "refused")
	e.put(f.logins, float64(s.Unavailable), "unavailable")
}

func collectBridge(e emitter, f *families, s bridge.Stats) {
	e.put(f.lanes, float64(s.Lanes))
	e.put(f.queued, float64(s.Queued))
	e.put(f.sends, float64(s.Sends))
	e.put(f.batches, float64(s.Batches))
	e.put(f.messages, float64(s.Messages))
	e.put(f.messageBytes, float64(s.Bytes))
	e.put(f.duplicates, float64(s.Duplicates))
	e.put(f.unknownOutcomes, float64(s.UnknownOutcomes))
	e.put(f.producers, float64(s.Producers))
	e.put(f.producerEvictions, float64(s.ProducerEvictions))
	e.calls(f.iggyCalls, s.SendCalls, "send")
	e.calls(f.iggyCalls, s.PollCalls, "poll")
	e.calls(f.iggyCalls, s.OtherCalls, "other")
	e.put(f.iggyConnections, float64(s.Connections.Control), "control")
	e.put(f.iggyConnections, float64(s.Connections.Writes), "write")
	e.put(f.iggyConnections, float64(s.Connections.Reads), "read")
	e.put(f.iggyConnections, float64(s.Connections.UserWrites), "user_write")
	e.put(f.iggyConnections, float64(s.Connections.UserReads), "user_read")
	e.put(f.iggyConnections, float64(s.Connections.NativeGroups), "native_groups")
	e.put(f.dials, float64(s.Dials))
	e.put(f.failedDials, float64(s.FailedDials))
	e.put(f.losses, float64(s.Losses))
	e.put(f.topics, float64(s.Topics))
	e.put(f.hiddenTopics, float64(s.Hidden))
	e.put(f.refreshes, float64(s.Refreshes))
	e.put(f.failedRefreshes, float64(s.FailedRefreshes))
}

// calls tells of requests to Iggy.
func (e emitter) calls(f *family, c bridge.Calls, request string) {
	m, err := prometheus.NewConstSummary(f.desc, c.Count, c.Took.Seconds(), nil, request)
	if err != nil {
		m = prometheus.NewInvalidMetric(f.desc, err)
	}
	e <- m
}

func collectState(e emitter, f *families, s state.Stats) {
	e.is(f.stateLoaded, s.Loaded)
	e.is(f.stateFenced, s.Fenced)
	e.put(f.stateCheckpoints, float64(s.Checkpoints))
	e.put(f.stateFailures, float64(s.Failures))
	e.put(f.stateDisagreements, float64(s.Disagreements))
	e.put(f.rebalances, float64(s.Rebalances))
	records, unsaved, queued := 0, 0, 0
	var oldest time.Time
	for _, p := range s.Partitions {
		records += p.Entries
		unsaved += p.Since
		queued += p.Queued
		if !p.Checkpoint.IsZero() && (oldest.IsZero() || p.Checkpoint.Before(oldest)) {
			oldest = p.Checkpoint
		}
	}
	e.put(f.stateRecords, float64(records))
	e.put(f.stateUnsaved, float64(unsaved))
	e.put(f.stateQueued, float64(queued))
	if !oldest.IsZero() {
		e.put(f.stateCheckpointTime, float64(oldest.UnixMilli())/1000)
	}
}

func collectMirror(e emitter, f *families, s mirror.Stats) {
	e.put(f.mirrorWaiting, float64(s.Waiting))
	e.put(f.mirrored, float64(s.Copied), "copied")
	e.put(f.mirrored, float64(s.Failed), "failed")
	e.put(f.mirrored, float64(s.Dropped), "dropped")
}

func collectBudget(e emitter, f *families, name string, s budget.Stats) {
	e.put(f.budgetUsed, float64(s.Used), name)
	e.put(f.budgetLimit, float64(s.Limit), name)
	e.put(f.budgetWaiting, float64(s.Waiting), name)
	e.put(f.budgetWaits, float64(s.Waits), name)
	e.put(f.budgetDenials, float64(s.Denials), name)
}
