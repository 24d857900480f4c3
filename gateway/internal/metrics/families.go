// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// namespace begins the names of all metrics of the gateway.
const namespace = "iggy_kafka"

// Type is what a family's values mean, as Prometheus calls it.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
	Summary   Type = "summary"
)

// Family is a metric with all the values of its labels.
type Family struct {
	Name   string
	Type   Type
	Labels []string
	Help   string
}

// family is a Family ready to be filled.
type family struct {
	Family
	desc *prometheus.Desc
}

// families are all of them. Their order is that of the documentation.
type families struct {
	list []*family

	build, ready, check, draining *family

	requests, requestBytes, responseBytes, duration, stages, throttled *family

	connections, connectionLimit, accepted, closed, logins *family

	lanes, queued, sends, batches, messages, messageBytes, duplicates, unknownOutcomes *family
	producers, producerEvictions, unmappable                                           *family

	iggyCalls, iggyConnections, dials, failedDials, losses *family
	topics, hiddenTopics, refreshes, failedRefreshes       *family
	groups, members, lag, omitted, snapshotAge, rebalances *family

	mirrorWaiting, mirrored *family

	stateLoaded, stateFenced, stateRecords, stateUnsaved, stateQueued, stateCheckpointTime *family
	stateCheckpoints, stateFailures, stateDisagreements                                    *family

	budgetUsed, budgetLimit, budgetWaiting, budgetWaits, budgetDenials *family

	sessions, sessionLimit, sessionPartitions, sessionEvictions *family
}

func newFamilies() *families {
	f := &families{}
	f.build = f.gauge("build_info", "Which build this is; always 1.", "version", "revision", "goversion")
	f.ready = f.gauge("ready", "Whether all readiness checks pass, as /readyz says: 1 or 0.")
	f.check = f.gauge("readiness_check", "Whether a readiness check passes: 1 or 0.", "check")
	f.draining = f.gauge("draining", "Whether the gateway is about to stop and answers what is in flight: 1 or 0.")

	f.requests = f.counter("requests_total",
		"Requests by how they ended: error is the first error code in the answer by Kafka's name, NONE, or "+
			"connection_closed for those without an answer, of which no code is known either.", "api", "version", "error")
	f.requestBytes = f.counter("request_bytes_total", "Bytes of requests, before TLS.", "api")
	f.responseBytes = f.counter("response_bytes_total", "Bytes of answers, before TLS.", "api")
	f.duration = f.histogram("request_duration_seconds",
		"Time from a request's first bytes to its answer's last, of answered requests.", "api")
	f.stages = f.histogram("request_stage_duration_seconds",
		"The parts of request_duration_seconds: queue, waiting for earlier answers and the end of throttling; decode, "+
			"reading, checking and decoding; parked, waiting for new records or other group members; iggy, finding the "+
			"answer; encode; write, waiting for earlier answers to go first and for the client to take the bytes.",
		"api", "stage")
	f.throttled = f.counter("throttled_requests_total", "Requests answered with a throttle time (quotas).", "api")

	f.connections = f.gauge("connections", "Open client connections.")
	f.connectionLimit = f.gauge("connections_limit", "How many client connections may be open.")
	f.accepted = f.counter("connections_accepted_total", "Client connections accepted, those closed at once included.")
	f.closed = f.counter("connections_closed_total",
		"Client connections closed, by cause; too_many_connections are those refused for want of room.", "cause")
	f.logins = f.counter("authentications_total",
		"Logins of clients and to the status page, by outcome: accepted, refused, or unavailable when Iggy could not be asked.", "outcome")

	f.lanes = f.gauge("lanes", "Partitions that are being written, each by a lane.")
	f.queued = f.gauge("lane_queued_batches", "Batches that wait in lanes for their turn.")
	f.sends = f.counter("lane_sends_total", "Sends of messages to Iggy.")
	f.batches = f.counter("lane_sent_batches_total",
		"Kafka batches in these sends: divided by lane_sends_total, how many go together.")
	f.messages = f.counter("lane_sent_messages_total", "Messages in these sends.")
	f.messageBytes = f.counter("lane_sent_bytes_total", "Bytes of these messages in Iggy's form.")
	f.duplicates = f.counter("deduplicated_batches_total",
		"Batches of idempotent producers that had been written before, and were not again.")
	f.unknownOutcomes = f.counter("unknown_outcomes_total", "Batches given up without knowing whether Iggy has written them.")
	f.producers = f.gauge("producers", "Pairs of idempotent producer and partition that are remembered.")
	f.producerEvictions = f.counter("producer_evictions_total", "Of these pairs, those forgotten because there were too many.")
	f.unmappable = f.counter("unmappable_messages_total",
		"Messages of native producers that are no Kafka records, served as they are, each as often as it was fetched.")

	f.iggyCalls = f.summary("iggy_request_duration_seconds",
		"Time from sending a request to Iggy to its answer, by what it is: send and poll carry messages, other are all "+
			"others. Its sum by its count is the average.", "request")
	f.iggyConnections = f.gauge("iggy_connections",
		"Connections to Iggy, by role: control, write and read of the gateway's own user, user_write and user_read of "+
			"those of clients that authenticate, native_groups.", "role")
	f.dials = f.counter("iggy_connections_opened_total", "Connections to Iggy that were opened.")
	f.failedDials = f.counter("iggy_connection_failures_total", "Connections to Iggy that could not be opened.")
	f.losses = f.counter("iggy_connections_lost_total", "Connections to Iggy that were lost while in use.")
	f.topics = f.gauge("topics", "Topics that Kafka clients see.")
	f.hiddenTopics = f.gauge("topics_hidden", "Topics of Iggy left out because Kafka does not allow their names.")
	f.refreshes = f.counter("topic_view_refreshes_total", "Times that Iggy was asked for all topics.")
	f.failedRefreshes = f.counter("topic_view_refresh_failures_total", "Of these, those in vain.")

	f.groups = f.gauge("consumer_groups", "Consumer groups, by state.", "state")
	f.members = f.gauge("consumer_group_members", "Members of a consumer group; it has one series, with the state that it is in.", "group", "state")
	f.lag = f.gauge("consumer_group_lag",
		"Records between a group's committed offset and the end of a partition.", "group", "topic", "partition")
	f.omitted = f.gauge("consumer_group_series_omitted",
		"Series of consumer_group_members and consumer_group_lag left out because there were too many.")
	f.snapshotAge = f.gauge("consumer_groups_snapshot_age_seconds",
		"How old the newest complete knowledge of groups, members and lag is.")
	f.rebalances = f.counter("consumer_group_rebalances_total", "Times that a group began to rebalance.")

	f.mirrorWaiting = f.gauge("native_offsets_waiting", "Committed offsets that wait to be copied to native consumer groups.")
	f.mirrored = f.counter("native_offsets_total",
		"Committed offsets by what became of copying them to native consumer groups: copied, failed or dropped.", "outcome")

	f.stateLoaded = f.gauge("state_log_loaded", "Whether the state of groups, offsets and settings is loaded: 1 or 0.")
	f.stateFenced = f.gauge("state_log_fenced", "Whether another gateway has taken the state over: 1 or 0.")
	f.stateRecords = f.gauge("state_log_records", "Records that the state comes to.")
	f.stateUnsaved = f.gauge("state_log_records_since_checkpoint", "Records that a start has to read behind the newest checkpoint.")
	f.stateQueued = f.gauge("state_log_queued_bytes", "Bytes of records that wait to be written.")
	f.stateCheckpointTime = f.gauge("state_log_checkpoint_timestamp_seconds",
		"When the oldest of the partitions' newest checkpoints was made, in Unix time.")
	f.stateCheckpoints = f.counter("state_log_checkpoints_total", "Checkpoints written.")
	f.stateFailures = f.counter("state_log_failures_total", "Times that the state log began to fail.")
	f.stateDisagreements = f.counter("state_log_disagreements_total",
		"Times that the state log was not what this gateway had written, and was mended.")

	f.budgetUsed = f.gauge("memory_budget_used_bytes", "Bytes granted from a memory budget.", "budget")
	f.budgetLimit = f.gauge("memory_budget_limit_bytes", "Size of a memory budget.", "budget")
	f.budgetWaiting = f.gauge("memory_budget_waiting", "Requests that wait for a memory budget.", "budget")
	f.budgetWaits = f.counter("memory_budget_waits_total", "Requests that had to wait for a memory budget.", "budget")
	f.budgetDenials = f.counter("memory_budget_denials_total",
		"Requests that a memory budget had no room for in time, or never will.", "budget")

	f.sessions = f.gauge("fetch_sessions", "Fetch sessions (KIP-227).")
	f.sessionLimit = f.gauge("fetch_sessions_limit", "How many fetch sessions there may be.")
	f.sessionPartitions = f.gauge("fetch_session_partitions", "Partitions in fetch sessions.")
	f.sessionEvictions = f.counter("fetch_session_evictions_total", "Fetch sessions that had to make room for others.")
	return f
}

// Families returns those of the gateway, without those about Go and the process.
func Families() []Family {
	var all []Family
	for _, f := range newFamilies().list {
		all = append(all, f.Family)
	}
	return all
}

func (f *families) counter(name, help string, labels ...string) *family {
	return f.add(name, Counter, help, labels)
}
func (f *families) gauge(name, help string, labels ...string) *family {
	return f.add(name, Gauge, help, labels)
}
func (f *families) histogram(name, help string, labels ...string) *family {
	return f.add(name, Histogram, help, labels)
}

func (f *families) summary(name, help string, labels ...string) *family {
	return f.add(name, Summary, help, labels)
}

func (f *families) add(name string, kind Type, help string, labels []string) *family {
	full := prometheus.BuildFQName(namespace, "", name)
	added := &family{Family{full, kind, labels, help}, prometheus.NewDesc(full, help, labels, nil)}
	f.list = append(f.list, added)
	return added
}

// emitter takes the values of one scrape.
type emitter chan<- prometheus.Metric

// put tells a counter or a gauge.
func (e emitter) put(f *family, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if f.Type == Counter {
		kind = prometheus.CounterValue
	}
	m, err := prometheus.NewConstMetric(f.desc, kind, value, labels...)
	if err != nil { // a label that is no UTF-8: say so, and tell the rest
		m = prometheus.NewInvalidMetric(f.desc, err)
	}
	e <- m
}

// is tells whether something is so.
func (e emitter) is(f *family, so bool, labels ...string) {
	value := 0.0
	if so {
		value = 1
	}
	e.put(f, value, labels...)
}
