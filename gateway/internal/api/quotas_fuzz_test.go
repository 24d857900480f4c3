// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
)

// FuzzAlterQuotas: whatever is asked, each entity is answered once, and what is not refused is the quota of somebody, at rates that
// are numbers above 0 or removed.
func FuzzAlterQuotas(f *testing.F) {
	name := "n"
	seed := func(types []string, keys []string, rate float64, remove bool) {
		req := kmsg.NewPtrAlterClientQuotasRequest()
		entry := kmsg.NewAlterClientQuotasRequestEntry()
		for i, kind := range types {
			part := kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: &name}
			if i%2 == 1 {
				part.Name = nil
			}
			entry.Entity = append(entry.Entity, part)
		}
		for _, key := range keys {
			entry.Ops = append(entry.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: rate, Remove: remove})
		}
		req.Entries = append(req.Entries, entry, entry)
		for req.Version = range int16(2) {
			f.Add(req.Version, req.AppendTo(nil))
		}
	}
	seed([]string{"user"}, []string{"producer_byte_rate"}, 1000, false)
	seed([]string{"user", "client-id"}, []string{"producer_byte_rate", "consumer_byte_rate"}, 1000.5, false)
	seed([]string{"client-id", "client-id", ""}, []string{"consumer_byte_rate", "consumer_byte_rate"}, -1, true)
	seed(nil, nil, 0, false)
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		req := kmsg.NewPtrAlterClientQuotasRequest()
		if req.SetVersion(version & 1); len(body) > 1<<10 || req.ReadFrom(body) != nil {
			return
		}
		seen := map[string]bool{}
		for _, alter := range quotaAlterations(req) {
			alter.refused = alter.parse()
			if seen[alter.key()] {
				t.Errorf("%v is answered twice", alter)
			}
			seen[alter.key()] = true
			if out := alter.answer(); len(out.Entity) != len(alter.parts) {
				t.Errorf("%v: %d parts are answered", alter, len(out.Entity))
			}
			if alter.refused != nil {
				continue
			}
			if alter.entity == (quotas.Entity{}) {
				t.Errorf("%v is nobody", alter)
			}
			for kind, rate := range alter.rates {
				if !(rate >= 0) {
					t.Errorf("%v: %v is %v", alter, kind, rate)
				}
			}
		}
		if len(seen) > len(req.Entries) || len(seen) == 0 && len(req.Entries) > 0 {
			t.Errorf("%d answers to %d entries", len(seen), len(req.Entries))
		}
	})
}
