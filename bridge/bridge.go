// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
)

// Bridge is Kafka-shaped access to one Iggy server. All methods are safe for concurrent use; each takes a context
// and returns within its deadline.
type Bridge struct {
	cfg       Config
	buffers   bufferPool
	owner     *owner
	self      *Session
	slots     *slots               // of the connections that carry writes
	extras    *extras              // of those that carry other users' polls
	others    sessionTable         // of all other users
	boot      string               // in the names of the tokens that this process makes
	producers *producerstate.Table // of all lanes
	questions chan struct{}        // a token for each lane that is asked for its producers
	control   *connPool            // the gateway's own small questions, which must not queue behind megabytes of records

	clusterID  string
	lossLogged atomic.Int64  // unix ns
	dials      atomic.Uint64 // connections made
	epoch      atomic.Uint64 // rises when a connection is lost: every remembered end of a partition is void
	counts     counts
	native     atomic.Pointer[connPool] // of the NativeGroups, for Stats
	view       topicView
	states     stateTable
}

// Open signs in to Iggy, makes the default stream if it is missing, and checks that the streams of the topic map
// exist and that the user may read. It tries until ctx is done when Iggy cannot be reached; what waiting does not mend ends it at
// once: a refusal, and a certificate that does not fit.
func Open(ctx context.Context, cfg Config) (*Bridge, error) {
	cfg = cfg.withDefaults()
	switch {
	case cfg.Names == nil:
		return nil, errors.New("bridge: Config.Names is not set")
	case len(cfg.TokenPrefix) > maxTokenPrefix:
		return nil, fmt.Errorf("bridge: Config.TokenPrefix %q has more than %d bytes", cfg.TokenPrefix, maxTokenPrefix)
	}
	b := &Bridge{
		cfg: cfg, owner: newOwner(), boot: newBoot(),
		producers: producerstate.New(cfg.MaxProducers, cfg.ProducerExpiry), questions: make(chan struct{}, maxQuestions),
	}
	// A list of topics cannot be asked for in parts: it may be larger than the answers whose size we choose.
	b.control = b.selfPool(2, 4*cfg.MaxAnswerSize)
	b.slots, b.extras = newSlots(cfg.MaxWriteConnections), newExtras(cfg.MaxExtraReads)
	b.self = b.newSession(iggywire.NamedID(cfg.Username),
		b.selfPool(cfg.MaxWriteConnections, cfg.MaxAnswerSize), b.selfPool(cfg.MaxReadConnections, cfg.MaxAnswerSize))
	b.view.init(b)
	b.states.init(b)
	if err := b.start(ctx); err != nil {
		b.Close(ctx)
		return nil, err
	}
	b.owner.spawn(b.tend)
	return b, nil
}

func (b *Bridge) start(ctx context.Context) error {
	var telling error // what was met last, but for a try that was cut short: the one before it says more
	for wait := redialMin; ; wait = min(2*wait, redialMax) {
		err := b.prepare(ctx)
		if err == nil || !mayHeal(err) {
			return err
		}
		if telling == nil || !IsTimeout(err) && !errors.Is(err, os.ErrDeadlineExceeded) {
			telling = err
		}
		if ctx.Err() == nil {
			b.cfg.Retrying(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return telling
		}
	}
}

// mayHeal says whether Iggy may be usable a little later, though nobody changes a setting. A name that is not known may come to be:
// that of a server which is started at the same time.
func mayHeal(err error) bool {
	if _, unfit := errors.AsType[*tls.CertificateVerificationError](err); unfit {
		return false
	}
	return IsRetryable(err) && !IsLoginFailed(err)
}

// prepare is one try at everything that Open promises.
func (b *Bridge) prepare(ctx context.Context) error {
	names := b.cfg.Names
	for i, stream := range names.Streams() {
		details, found, err := b.getStream(ctx, stream)
		if IsUnauthorized(err) {
			return fmt.Errorf("bridge: the gateway's iggy user %q must be able to read streams and topics: %w", b.cfg.Username, err)
		}
		if err != nil {
			return err
		}
		isDefault := i == 0
		switch {
		case !found && !isDefault && !b.cfg.CreateStreams:
			return &StreamMissingError{stream}
		case !found:
			if details, err = b.createStream(ctx, stream); err != nil {
				return err
			}
		}
		if isDefault {
			b.clusterID = clusterID(details.ID, details.CreatedAt)
		}
	}
	view, err := b.Topics(ctx)
	if err != nil {
		return err
	}
	return b.checkPoll(ctx, view)
}

// checkPoll makes sure that the user may poll: each append is verified by a poll.
func (b *Bridge) checkPoll(ctx context.Context, view *TopicView) error {
	for _, t := range view.Topics {
		if t.Partitions == 0 {
			continue
		}
		m, err := b.poll(ctx, b.self, pollRequest(t.Iggy, 0, iggywire.PollOffset, 0, 0))
		if IsUnauthorized(err) {
			return fmt.Errorf("bridge: the gateway's iggy user %q must be able to poll messages: %w", b.cfg.Username, err)
		}
		m.Release()
		return nil // whatever else went wrong shows where it matters
	}
	return nil
}

// Self is the session of the gateway's own user.
func (b *Bridge) Self() *Session { return b.self }

// ClusterID is stable across restarts and the same for every gateway in front of one Iggy: 22 characters made from
// the default stream's id and creation time.
func (b *Bridge) ClusterID() string { return b.clusterID }

// Close stops what runs, fails what waits with ErrClosed, and signs the connections out within ctx.
func (b *Bridge) Close(ctx context.Context) {
	others := b.others.close()
	// A write that Iggy does not take would hold its lane for longer.
	stop := context.AfterFunc(ctx, func() {
		b.control.abort()
		for _, s := range append(others, b.self) {
			s.abort()
		}
	})
	defer stop()
	b.owner.close()
	closeAll(ctx, others)
	b.self.Close(ctx)
	b.control.close(ctx)
}

// connLost makes every remembered end void: the server may have been killed and may have lost what it had not
// flushed.
func (b *Bridge) connLost(err error) {
	losses := b.epoch.Add(1)
	// One line a second: an Iggy that goes away takes many connections with it, and may do so again and again.
	now, last := time.Now().UnixNano(), b.lossLogged.Load()
	passed := now - last // below 0: the clock was set back since
	if (passed < 0 || passed >= int64(time.Second)) && b.lossLogged.CompareAndSwap(last, now) {
		b.cfg.Logger.Warn("connection to iggy lost", "err", err, "losses", losses)
	}
}

// tend closes idle connections, and renews tokens in time.
func (b *Bridge) tend() {
	tick := time.NewTicker(max(min(b.cfg.IdleTimeout, b.cfg.TokenLife)/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			b.self.reap()
			b.control.reap(b.cfg.IdleTimeout)
			away := false
			for _, s := range b.others.all() {
				s.reap()
				away = away || IsRetryable(s.renew(b.owner.life, now)) // one is enough to wait for
			}
		case <-b.owner.life.Done():
			return
		}
	}
}
