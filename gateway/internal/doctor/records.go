// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

const (
	// ownPrefix begins the names of topics and groups that the doctor makes.
	ownPrefix = "iggy-kafka-doctor-"
	// probeKey is the key of every probe record, as compacted topics refuse records without one.
	probeKey  = "iggy-kafka-doctor"
	partition = 0
)

// records are what is done with records and groups, as an ordinary client does it. It is used by one goroutine.
type records struct {
	*Options
	bootstrap *visit

	topic    string
	made     bool // by the doctor
	groupID  string
	client   *kgo.Client
	first    int64 // offset of the first probe
	consumer *kgo.Client
	stamp    *stamp
}

// stamp is how far the clock that records are stamped by is off.
type stamp struct{ off, within time.Duration }

// newClient is a client as others are, but that it gives up sooner. Whoever gets it closes it.
func (r *records) newClient(more ...kgo.Opt) (*kgo.Client, error) {
	t := &r.Target
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(t.Address), kgo.ClientID(clientID), kgo.SoftwareNameAndVersion(clientID, softwareVersion(r.Version)),
		kgo.RetryTimeout(r.StepTimeout), kgo.DialTimeout(r.StepTimeout), kgo.RequestTimeoutOverhead(r.StepTimeout),
		kgo.RecordDeliveryTimeout(r.StepTimeout), kgo.ProduceRequestTimeout(r.StepTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.AllowIdempotentProduceCancellation(), kgo.MetadataMinAge(100 * time.Millisecond), kgo.DisableClientMetrics(),
	}, more...)
	if t.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(t.TLS))
	}
	if t.User != "" {
		opts = append(opts, kgo.SASL(plain.Auth{User: t.User, Pass: t.Password.Reveal()}.AsMechanism()))
	}
	return kgo.NewClient(opts...)
}

// makeTopic makes sure that there is a topic for probes.
func (r *records) makeTopic(ctx context.Context) finding {
	client, err := r.newClient()
	if err != nil {
		return r.trouble("starting a client", err)
	}
	r.client = client
	if r.Topic != "" {
		r.topic = r.Topic
		return r.findTopic(ctx)
	}
	name := ownPrefix + strings.ToLower(rand.Text()[:12])
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, -1
	if !r.bootstrap.session.serves(kmsg.CreateTopics, 4) {
		topic.ReplicationFactor = 1 // the broker's own choice came with KIP-464
	}
	config, stamped := kmsg.NewCreateTopicsRequestTopicConfig(), "LogAppendTime"
	config.Name, config.Value = "message.timestamp.type", &stamped // shows the server's clock
	topic.Configs = append(topic.Configs, config)
	req.Topics = append(req.Topics, topic)
	req.TimeoutMillis = int32(r.StepTimeout.Milliseconds())
	r.topic, r.made = name, true // also when the answer is lost
	resp, err := req.RequestWith(ctx, client)
	if err == nil && len(resp.Topics) == 1 {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		if errors.As(err, new(*kerr.Error)) && !errors.Is(err, kerr.RequestTimedOut) {
			r.made = false
		}
		return r.trouble("making the topic "+name, err)
	}
	return ok("made %s, to be deleted at the end", name)
}

// findTopic looks whether the topic that was named is there.
func (r *records) findTopic(ctx context.Context) finding {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &r.topic
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, r.client)
	if err == nil && len(resp.Topics) == 1 {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return r.trouble("looking for the topic "+shown(r.topic), err)
	}
	return ok("%s, with %s; the probes will stay in it", shown(r.topic), count(len(resp.Topics[0].Partitions), "partition"))
}

func (r *records) produce(ctx context.Context) finding {
	began := time.Now()
	record := r.probe()
	if err := r.send(ctx, record); err != nil {
		return r.trouble("writing a record to "+shown(r.topic), err)
	}
	r.first = record.Offset
	return ok("a record, acknowledged as offset %d, in %v", record.Offset, Millis(time.Since(began)))
}

// send writes a record and waits until that is acknowledged, but no longer than ctx, which the client does not end a write for that
// is on its way. After an error nobody may look at the record.
func (r *records) send(ctx context.Context, record *kgo.Record) error {
	acknowledged := make(chan error, 1)
	r.client.Produce(ctx, record, func(_ *kgo.Record, err error) { acknowledged <- err })
	select {
	case err := <-acknowledged:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// probe is a record that is like no other.
func (r *records) probe() *kgo.Record {
	return &kgo.Record{Topic: r.topic, Partition: partition, Key: []byte(probeKey), Value: []byte(rand.Text())}
}

func (r *records) fetch(ctx context.Context) finding {
	consumer, err := r.newClient(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.topic: {partition: kgo.NewOffset().At(r.first)}}))
	if err != nil {
		return r.trouble("starting a consumer", err)
	}
	r.consumer = consumer
	began := time.Now()
	got, err := next(ctx, consumer, func(got *kgo.Record) bool { return got.Offset >= r.first })
	switch {
	case err != nil:
		return r.trouble("reading the record back", err)
	case got.Offset != r.first || string(got.Key) != probeKey:
		return failed(fmt.Sprintf("another record than the one that was written came back from offset %d", r.first),
			"A producer was acknowledged an offset that is not its record's. If nobody deletes records of this topic, that is a fault: report it.")
	}
	return ok("the record came back, in %v", Millis(time.Since(began)))
}

// next waits for the record that is wanted and passes over others.
func next(ctx context.Context, consumer *kgo.Client, wanted func(*kgo.Record) bool) (*kgo.Record, error) {
	for {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for record := range fetches.RecordsAll() {
			if wanted(record) {
				return record, nil
			}
		}
	}
}

// rounds has a consumer wait for each of several probes. The latencies are from sending a probe until it was
// acknowledged, and until the consumer had it.
func (r *records) rounds(ctx context.Context) (produced, fetched []time.Duration, err error) {
	for range r.Probes {
		record := r.probe()
		sent := time.Now()
		if err := r.send(ctx, record); err != nil {
			return nil, nil, err
		}
		acknowledged := time.Now()
		got, err := next(ctx, r.consumer, func(got *kgo.Record) bool { return bytes.Equal(got.Value, record.Value) })
		if err != nil {
			return nil, nil, err
		}
		produced = append(produced, acknowledged.Sub(sent))
		fetched = append(fetched, time.Since(sent))
		r.compare(got, sent, acknowledged)
	}
	return produced, fetched, nil
}

// compare looks at the time that a record was stamped with, if it was, between its being sent and acknowledged. The quickest
// record tells the most.
func (r *records) compare(got *kgo.Record, sent, acknowledged time.Time) {
	const logAppendTime = 1
	if got.Attrs.TimestampType() != logAppendTime {
		return
	}
	within := acknowledged.Sub(sent)/2 + time.Millisecond // stamps have milliseconds
	if r.stamp == nil || within < r.stamp.within {
		r.stamp = &stamp{got.Timestamp.Sub(sent.Add(acknowledged.Sub(sent) / 2)), within}
	}
}

// cleanUp removes what was made.
func (r *records) cleanUp(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, r.StepTimeout)
	defer cancel()
	defer r.closeClients()
	var left []string
	if r.groupID != "" {
		if err := r.deleteGroup(ctx); err != nil {
			left = append(left, "the group "+r.groupID+": "+cause(err))
		}
	}
	if r.made {
		if err := r.deleteTopic(ctx); err != nil {
			left = append(left, "the topic "+r.topic+": "+cause(err))
		}
	}
	switch {
	case len(left) > 0:
		return warning("perhaps left behind: "+strings.Join(left, "; "), "Delete it, or have it deleted, by Kafka's tools. A group without members goes by itself.")
	case r.made:
		return ok("%s is deleted", r.topic)
	}
	return skipped("nothing was made that has to go")
}

func (r *records) deleteTopic(ctx context.Context) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{r.topic}
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &r.topic
	req.Topics = append(req.Topics, topic)
	req.TimeoutMillis = int32(r.StepTimeout.Milliseconds())
	resp, err := req.RequestWith(ctx, r.client)
	if err == nil && len(resp.Topics) == 1 {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	}
	return err
}

func (r *records) closeClients() {
	part(func() {
		for _, client := range []*kgo.Client{r.consumer, r.client} {
			if client != nil {
				client.Close()
			}
		}
	})
}

// latency measures what every application waits for.
func (e *examination) latency(ctx context.Context) finding {
	connected, err := e.connects(ctx)
	if err != nil {
		return e.records.trouble("connecting again", err)
	}
	produced, fetched, err := e.records.rounds(ctx)
	if err != nil {
		return e.records.trouble("writing and reading more records", err)
	}
	e.latencies = []Latency{summed("connect", connected), summed("produce", produced), summed("fetch", fetched)}
	var texts []string
	for _, l := range e.latencies {
		texts = append(texts, fmt.Sprintf("%s %v (at most %v)", l.Of, l.P50, l.Max))
	}
	return ok("%s, each the median of %d", strings.Join(texts, ", "), e.Probes)
}

// connects measures how long connecting takes, without TLS and login.
func (e *examination) connects(ctx context.Context) (took []time.Duration, err error) {
	for range e.Probes {
		began := time.Now()
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.bootstrap.address())
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		conn.Close()
	}
	return took, nil
}

func summed(of string, took []time.Duration) Latency {
	slices.Sort(took)
	return Latency{of, Millis(took[len(took)/2]), Millis(took[len(took)-1]), len(took)}
}
