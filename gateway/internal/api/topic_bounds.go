// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// topicBounds is where the partitions of a topic that a request names begin and end, or why that is not known. A topic that is not
// there is nil.
type topicBounds struct {
	topic      *bridge.Topic
	partitions []bridge.Bounds
	err        error
}

// boundsOf asks about the topics that a request names, for a client that needs one of the wanted rights to them: never from
// memory, as a client may have written, by whatever way, just before it asks; and once about each, since a few bytes of a
// request are enough to name it again.
func (a *API) boundsOf(ctx context.Context, conn *server.Conn, wanted permissions.Rights, names iter.Seq[string]) map[string]*topicBounds {
	see, err := a.topics(ctx, conn)
	topics := map[string]*topicBounds{}
	var group errgroup.Group
	group.SetLimit(askTogether)
	for name := range names {
		if topics[name] != nil {
			continue
		}
		t := &topicBounds{err: err}
		topics[name] = t
		if err != nil {
			continue
		}
		var code int16
		switch t.topic, code = see.find(topicRef{name: name}, wanted); code {
		case none:
			group.Go(func() error {
				t.partitions, t.err = a.Bridge.Bounds(ctx, t.topic)
				return nil
			})
		case topicAuthorizationFailed:
			t.err = errNotAllowed
		}
	}
	_ = group.Wait() // every topic has its own error
	return topics
}
