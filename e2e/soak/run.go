// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// quietLimit is how long everything may take to come to rest when nothing disturbs it any more.
const quietLimit = 60 * time.Second

var errNotAtRest = errors.New("soak: not at rest")

// run is a plan that is carried out.
type run struct {
	plan   Plan
	bin    harness.Binaries
	target *harness.Target
	clock  harness.SteppedClock
	scene  *scene
	native nativeServer
	gate   sync.RWMutex // see nativeServer
	// clients and iggy are the proxies before the gateway and behind it; there is no second one for an embedded store.
	clients, iggy *Proxy

	producers []producer // until they have finished
	consumers []*consumer
	members   *members
	late      *lateCommits

	disturbed    time.Time    // when that began: the clients are there, and the times of faults count from here
	startsFailed atomic.Int64 // a program gave up before it served
	losses       []Loss       // the one lane of faults' that there is then
	silences     []Silence    // the lane of the gateway's faults'
}

// Execute carries out a plan and returns what was seen. It keeps what it writes in dir. The error says what went wrong
// besides: a program that did not end or start as it should, a client that did not come to rest.
func Execute(ctx context.Context, plan Plan, bin harness.Binaries, dir string) (*History, Counts, error) {
	r := newRun(plan, bin, dir)
	defer r.close()
	if err := r.start(ctx, dir); err != nil {
		return nil, Counts{}, fmt.Errorf("soak: start: %w", err)
	}
	r.disturbed = time.Now()
	disturbed := r.disturbAll(ctx)
	h, err := r.rest(ctx)
	logged := r.inspectLogs()
	if errors.Is(err, errNotAtRest) || errors.Is(err, context.DeadlineExceeded) {
		r.target.Gateway.Abort() // its log shows where it hangs
	}
	counts := Counts{Faults: map[string]int{}, StartsFailed: int(r.startsFailed.Load()), Losses: len(r.losses)}
	for _, f := range plan.Faults {
		counts.Faults[fmt.Sprintf("%s %s", f.Where, f.Kind)]++
	}
	return h, counts, errors.Join(disturbed, err, logged)
}

func newRun(plan Plan, bin harness.Binaries, dir string) *run {
	s := &scene{topic: "soak", partitions: plan.Partitions, dir: dir}
	return &run{plan: plan, bin: bin, scene: s, late: &lateCommits{scene: s}}
}

// start brings up servers, proxies and clients.
func (r *run) start(ctx context.Context, dir string) (err error) {
	if r.clock, err = harness.NewSteppedClock(dir); err != nil {
		return err
	}
	if r.clients, err = StartProxy("", r.late.heard); err != nil {
		return err
	}
	if err := r.startServers(ctx, dir); err != nil {
		return err
	}
	r.scene.addr = r.clients.Addr().String()
	r.native = nativeServer{iggy: r.target.Iggy, topic: r.scene.topic, gate: &r.gate}
	if err := r.createTopic(ctx); err != nil {
		return err
	}
	r.scene.begin = time.Now()
	for i, plan := range r.plan.Producers {
		p, err := startProducer(ctx, r.scene, i, plan, r.native)
		if err != nil {
			return err
		}
		r.producers = append(r.producers, p)
	}
	for _, plan := range r.plan.Consumers {
		c, err := startConsumer(r.scene, plan, r.plan.Topology.forgets())
		if err != nil {
			return err
		}
		r.consumers = append(r.consumers, c)
	}
	r.members, err = startMembers(r.scene, r.plan.Members)
	return err
}

func (r *run) startServers(ctx context.Context, dir string) (err error) {
	r.target = &harness.Target{Name: string(r.plan.Topology)}
	settings := []string{
		"IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0", r.clock.Variable(),
		"IGGY_KAFKA_ADVERTISED_HOST=127.0.0.1", fmt.Sprintf("IGGY_KAFKA_ADVERTISED_PORT=%d", r.clients.Addr().Port),
	}
	if r.plan.Exclusive {
		settings = append(settings, "IGGY_KAFKA_EXCLUSIVE_TOPICS="+r.scene.topic)
	}
	switch r.plan.Topology {
	case Separate:
		err = r.target.StartIggy(ctx, r.bin, dir)
	case Losing:
		err = r.target.StartIggy(ctx, r.bin, dir, "--test-lose-unflushed")
	case Real:
		err = r.target.StartRealIggy(ctx, os.Getenv("IGGY_SERVER_BIN"), dir)
	}
	if err != nil {
		return err
	}
	if r.target.IggyServer != nil {
		if r.iggy, err = StartProxy(r.target.Iggy.Addr, nil); err != nil {
			return err
		}
		settings = append(settings, "IGGY_KAFKA_IGGY_ADDR="+r.iggy.Addr().String())
	}
	if err := r.target.StartGateway(ctx, r.bin, dir, settings...); err != nil {
		return err
	}
	r.clients.SetTarget(r.target.Kafka)
	return nil
}

// createTopic makes a topic that takes records of another time: the gateway's clock goes wrong.
func (r *run) createTopic(ctx context.Context) error {
	client, err := r.scene.franz()
	if err != nil {
		return err
	}
	defer client.Close()
	anyTime, kind := "9223372036854775807", "CreateTime"
	if r.plan.LogAppendTime {
		kind = "LogAppendTime"
	}
	_, err = kadm.NewClient(client).CreateTopic(ctx, int32(r.plan.Partitions), 1,
		map[string]*string{"message.timestamp.after.max.ms": &anyTime, "message.timestamp.type": &kind}, r.scene.topic)
	return err
}

// disturbAll lets everything happen that is planned, at each place one thing after the other, and returns when all is
// over and the programs serve.
func (r *run) disturbAll(ctx context.Context) error {
	lanes := map[Where][]Fault{}
	for _, f := range r.plan.Faults {
		where := f.Where
		if r.plan.Topology.forgets() {
			where = Store // one lane for all
		}
		lanes[where] = append(lanes[where], f)
	}
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	for _, faults := range lanes {
		running.Go(func() {
			for _, f := range faults {
				err := errors.Join(sleep(ctx, time.Until(r.disturbed.Add(f.At))), r.inject(ctx, f))
				if err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	if err := sleep(ctx, time.Until(r.disturbed.Add(r.plan.Length))); err != nil {
		errs = append(errs, err)
	}
	for _, p := range []*Proxy{r.clients, r.iggy} {
		if p != nil {
			p.Heal()
		}
	}
	return errors.Join(errs...)
}

// rest waits until everything has come to rest and returns the history.
func (r *run) rest(ctx context.Context) (*History, error) {
	var errs []error
	writing, cancel := context.WithTimeoutCause(ctx, quietLimit, errNotAtRest)
	defer cancel()
	errs = append(errs, eachOf(r.producers, func(p producer) error { return p.finish(writing) })...)
	h := &History{Disturbed: r.disturbed.Sub(r.scene.begin), Losses: r.losses, Silences: r.silences}
	for _, p := range r.producers {
		h.Producers = append(h.Producers, p.history())
	}
	r.producers = nil
	reading, cancel := context.WithTimeoutCause(ctx, quietLimit, errNotAtRest)
	defer cancel()
	var err error
	if h.Log, err = r.stillLogs(reading); err != nil {
		return h, errors.Join(append(errs, err)...)
	}
	errs = append(errs, r.restReaders(reading, h))
	return h, errors.Join(errs...)
}

// stillLogs returns what is stored when nothing more comes: producers have their answers, but what is late may still be
// executed.
func (r *run) stillLogs(ctx context.Context) ([][]Stored, error) {
	var before [][]Stored
	for {
		logs, err := r.native.logs(r.plan.Partitions)
		if err != nil || slices.EqualFunc(before, logs, func(a, b []Stored) bool { return len(a) == len(b) }) {
			return logs, err
		}
		before = logs
		if err := sleep(ctx, stillness); err != nil {
			return nil, fmt.Errorf("%w: records are still written when all are answered", err)
		}
	}
}

// restReaders waits until all is read.
func (r *run) restReaders(ctx context.Context, h *History) error {
	var errs []error
	ends := make([]int64, len(h.Log))
	for p, log := range h.Log {
		ends[p] = int64(len(log))
	}
	await := func(name string, reached func([]int64) bool, position func() string) {
		for !reached(ends) {
			if err := sleep(ctx, 20*time.Millisecond); err != nil {
				errs = append(errs, fmt.Errorf("%w: %s is at %s, the ends are %d", err, name, position(), ends))
				return
			}
		}
	}
	for i, c := range r.consumers {
		await(fmt.Sprintf("consumer %d", i), c.reached, c.position)
	}
	if len(r.plan.Members) > 0 {
		await("the group", r.members.reached, r.members.position)
		leaving, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), quietLimit/2, errNotAtRest)
		defer cancel()
		errs = append(errs, r.members.stop(leaving))
		committed, err := r.committed(leaving)
		h.Group = GroupHistory{Events: r.members.events, Committed: committed, Late: r.late.all()}
		errs = append(errs, err)
	}
	for i, c := range r.consumers {
		c.stop()
		h.Consumers = append(h.Consumers, c.history(fmt.Sprint(i)))
	}
	r.consumers = nil
	return errors.Join(errs...)
}

// committed asks for the group's offsets.
func (r *run) committed(ctx context.Context) ([]int64, error) {
	client, err := r.scene.franz(kgo.MetadataMinAge(10 * time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	answer, err := kadm.NewClient(client).FetchOffsets(ctx, groupID)
	if err != nil {
		return nil, fmt.Errorf("soak: the group's offsets: %w", err)
	}
	offsets := make([]int64, r.plan.Partitions)
	for p := range offsets {
		offsets[p] = -1
		if o, ok := answer.Lookup(r.scene.topic, int32(p)); ok {
			offsets[p] = o.At
		}
	}
	return offsets, nil
}

// close stops what still runs: the servers, and clients if the run did not come to its end.
func (r *run) close() {
	gaveUp, cancel := context.WithCancel(context.Background())
	cancel()
	eachOf(r.producers, func(p producer) error { return p.finish(gaveUp) })
	for _, c := range r.consumers {
		c.stop()
	}
	if r.members != nil {
		_ = r.members.stop(gaveUp)
	}
	if r.target != nil {
		for _, p := range []*harness.Program{r.target.Gateway, r.target.IggyServer} {
			if p != nil {
				p.Kill()
			}
		}
	}
	for _, p := range []*Proxy{r.clients, r.iggy} {
		if p != nil {
			p.Close()
		}
	}
}

// eachOf calls do with all of them at the same time.
func eachOf[T any](all []T, do func(T) error) []error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Go(func() { errs[i] = do(one) })
	}
	running.Wait()
	return errs
}
