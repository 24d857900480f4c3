// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// How clients wait: less long than is usual, so that a run sees what they do afterwards.
const (
	requestTimeout = 3 * time.Second
	retryWait      = 200 * time.Millisecond
)

// scene is what all clients of a run share.
type scene struct {
	addr       string // where Kafka clients begin
	topic      string
	partitions int
	dir        string // for what they write
	begin      time.Time
	// words counts what the clients were told and given: while it stands still, nothing is on its way to them.
	words atomic.Int64
}

// now is the time of an event.
func (s *scene) now() time.Duration {
	s.words.Add(1)
	return time.Since(s.begin)
}

// franz is what the clients of franz-go have in common.
func (s *scene) franz(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.addr),
		kgo.DialTimeout(requestTimeout),
		kgo.RequestTimeoutOverhead(requestTimeout),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return retryWait }),
		kgo.UnknownTopicRetries(-1),
		kgo.AlwaysRetryEOF(), // a connection that ends before its first answer: it came to a program that was killed
	}, opts...)...)
}

// pace calls burst at each interval until stop is closed or ctx ends.
func pace(ctx context.Context, stop <-chan struct{}, interval time.Duration, burst func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			burst()
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// words are what a producer was told.
type words struct {
	acks   []Ack
	breaks []Break
	errors errorList
	told   int // of how many records
}

// ack takes the word that a record is written.
func (w *words) ack(a Ack) {
	w.acks = append(w.acks, a)
	w.told++
}

// fail takes the word that a record is not, or may not be, written.
func (w *words) fail(number, partition int, at time.Duration, text string) {
	w.told++
	if strings.Contains(strings.ToLower(strings.ReplaceAll(text, " ", "")), "outofordersequence") {
		w.breaks = append(w.breaks, Break{partition, at})
		return
	}
	w.errors.add("%d to partition %d: %s", number, partition, text)
}

// history is that of a producer which has sent so many records.
func (w *words) history(plan ProducerPlan, sent int) ProducerHistory {
	return ProducerHistory{
		Name: plan.String(), Guarantee: plan.guarantee(), Sent: sent, Acks: w.acks, Breaks: w.breaks, Errors: w.errors.list(),
	}
}

// errorList keeps the first errors of a client.
type errorList struct {
	texts []string
	more  int
}

func (l *errorList) add(format string, args ...any) {
	if len(l.texts) < mostFaults {
		l.texts = append(l.texts, fmt.Sprintf(format, args...))
	} else {
		l.more++
	}
}

func (l *errorList) list() []string {
	if l.more == 0 {
		return l.texts
	}
	return append(l.texts, fmt.Sprintf("and %d more errors", l.more))
}
