// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// readCounter counts what is read of the state log: mostly that is its loading.
type readCounter struct {
	statelog.Storage
	messages, bytes atomic.Int64
}

func (c *readCounter) Read(ctx context.Context, partition int, from int64, limit int) ([]statelog.Message, error) {
	messages, err := c.Storage.Read(ctx, partition, from, limit)
	for i := range messages {
		c.bytes.Add(int64(len(messages[i].Payload)))
	}
	c.messages.Add(int64(len(messages)))
	return messages, err
}

// Read is how many messages of the state log were read so far, and their bytes.
func (s *State) Read() (messages, bytes int64) {
	if s.read == nil {
		return 0, 0
	}
	return s.read.messages.Load(), s.read.bytes.Load()
}
