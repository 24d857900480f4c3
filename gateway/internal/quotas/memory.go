// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"maps"
	"sync"
)

// Memory is a Store that lasts as long as the process. The zero value is empty.
type Memory struct {
	mu      sync.Mutex // guards what follows
	version uint64
	values  map[string]map[string]string
}

// QuotasVersion counts the changes.
func (m *Memory) QuotasVersion() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version
}

// Quotas returns what was set.
func (m *Memory) Quotas() map[string]map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.values)
}

// SetQuota never fails.
func (m *Memory) SetQuota(_ context.Context, key string, values map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version++
	if len(values) == 0 {
		delete(m.values, key)
		return nil
	}
	if m.values == nil {
		m.values = map[string]map[string]string{}
	}
	m.values[key] = maps.Clone(values)
	return nil
}
