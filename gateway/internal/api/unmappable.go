// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/lograte"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// unmappableLog keeps account of messages that are no Kafka records: they are served as they are, so that no consumer is
// stopped by one, and somebody should hear of it.
type unmappableLog struct {
	lograte.Limit
	served atomic.Int64
}

func (a *API) noteUnmappable(t *bridge.Topic, partition int32, batch mapping.BatchInfo) {
	if batch.Unmappable == 0 {
		return
	}
	a.unmappable.served.Add(int64(batch.Unmappable))
	if _, ok := a.unmappable.Admit(a.Now()); ok {
		a.Logger.Warn("messages that are no Kafka records served as they are", "topic", t.Name, "partition", partition,
			"count", batch.Unmappable, "offset", batch.BaseOffset)
	}
}
