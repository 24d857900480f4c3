// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// ask sends one request on a connection of p and returns its answer, which the caller releases. It tries once more
// on another connection when the first try was surely not executed (nothing was sent, or the session was unknown), or
// when its fate is open and asking again cannot do harm.
func ask(ctx context.Context, p *connPool, req iggywire.Request, repeatable bool) (answer, error) {
	body := req.AppendTo(nil)
	for attempt := 0; ; attempt++ {
		m, err := p.get(ctx)
		if err != nil {
			return answer{}, err
		}
		a, err := m.do(ctx, req.Code(), body)
		p.put(m)
		again := errors.Is(err, ErrUnavailable) || hasStatus(err, iggywire.StatusUnauthenticated) ||
			repeatable && (errors.Is(err, ErrConnectionLost) || errors.Is(err, ErrMalformed) ||
				hasStatus(err, iggywire.StatusInvalidCommand))
		if !again || attempt > 0 {
			return a, p.class(err)
		}
	}
}

// parse turns an answer into a value and gives its buffer back.
func parse[T any](a answer, read func([]byte) (T, error)) (T, error) {
	defer a.release()
	v, err := read(a.bytes())
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return v, nil
}

// found is a thing that may be missing.
type found[T any] struct {
	value T
	ok    bool
}

func maybe[T any](read func([]byte) (T, bool, error)) func([]byte) (found[T], error) {
	return func(b []byte) (found[T], error) {
		v, ok, err := read(b)
		return found[T]{v, ok}, err
	}
}

func (b *Bridge) getStream(ctx context.Context, name string) (iggywire.StreamDetails, bool, error) {
	a, err := ask(ctx, b.control, iggywire.GetStream{Stream: iggywire.NamedID(name)}, true)
	if err != nil {
		return iggywire.StreamDetails{}, false, err
	}
	s, err := parse(a, maybe(iggywire.ParseStreamDetails))
	return s.value, s.ok, err
}

// createStream makes the stream, or returns the one that somebody else has just made.
func (b *Bridge) createStream(ctx context.Context, name string) (iggywire.StreamDetails, error) {
	a, err := ask(ctx, b.control, iggywire.CreateStream{Name: name}, false)
	if err == nil {
		a.release()
	} else if !IsExists(err) {
		return iggywire.StreamDetails{}, fmt.Errorf("bridge: create stream %q: %w", name, err)
	}
	details, found, err := b.getStream(ctx, name)
	if err == nil && !found {
		err = fmt.Errorf("bridge: stream %q vanished: %w", name, ErrUnavailable)
	}
	return details, err
}

func (b *Bridge) getTopic(ctx context.Context, name IggyName) (iggywire.TopicDetails, bool, error) {
	req := iggywire.GetTopic{Stream: iggywire.NamedID(name.Stream), Topic: iggywire.NamedID(name.Topic)}
	a, err := ask(ctx, b.control, req, true)
	if err != nil {
		return iggywire.TopicDetails{}, false, err
	}
	t, err := parse(a, maybe(iggywire.ParseTopicDetails))
	return t.value, t.ok, err
}

// pollRequest is a poll of one partition of a topic as the plain consumer 0, which stores nothing.
func pollRequest(name IggyName, partition int32, strategy iggywire.PollStrategy, value uint64, count uint32) iggywire.Poll {
	return iggywire.Poll{
		Consumer:     iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NumericID(0)},
		Stream:       iggywire.NamedID(name.Stream),
		Topic:        iggywire.NamedID(name.Topic),
		HasPartition: true,
		Partition:    uint32(partition),
		Strategy:     strategy,
		Value:        value,
		Count:        count,
	}
}
