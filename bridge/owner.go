// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"sync"
)

// owner starts goroutines until it is closed, and then waits for all of them.
type owner struct {
	life   context.Context // done once close was called
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newOwner() *owner {
	o := &owner{}
	o.life, o.cancel = context.WithCancel(context.Background())
	return o
}

// spawn runs f on a goroutine of its own; it reports false, and runs nothing, once the owner is closed.
func (o *owner) spawn(f func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.wg.Go(f)
	return true
}

func (o *owner) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.cancel()
	o.wg.Wait()
}
