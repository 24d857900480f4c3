// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

const (
	limits     = "../../../docs/limits.md"
	operations = "../../../docs/operations.md"
)

// TestLimits: the numbers that the page gives are those of the code.
func TestLimits(t *testing.T) {
	page := read(t, limits)
	for _, row := range []struct {
		begins string
		number uint64
	}{
		{"| a message:", mapping.MaxPayload},
		{"| one record |", mapping.MaxPayload},
		{"| user headers of a message", mapping.MaxUserHeaders},
		{"| partitions of a topic |", iggywire.MaxPartitions},
		{"| timestamps |", math.MaxUint64 / 1000},
		{"| quotas |", quotas.MaxQuotas},
		{"| quotas |", quotas.MaxName},
	} {
		found := false
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, row.begins) {
				found = true
				if !strings.Contains(line, thousands(row.number)) {
					t.Errorf("the code says %s:\n%s", thousands(row.number), line)
				}
			}
		}
		if !found {
			t.Errorf("no row begins with %q", row.begins)
		}
	}
}

// TestMemory: what operations.md says of memory under load is what the budgets come to.
func TestMemory(t *testing.T) {
	cfg, err := config.Load(nil, []string{"IGGY_KAFKA_EMBEDDED=true"})
	if err != nil {
		t.Fatal(err)
	}
	sum := cfg.FrameBudget + cfg.DecodeBudget + cfg.DecodeBudget/5*4 + cfg.ResponseBudget
	if words := strconv.FormatInt(sum>>20, 10) + " MiB by default"; !strings.Contains(read(t, operations), words) {
		t.Errorf("%s does not say %q", operations, words)
	}
}

// thousands writes 1234567 as 1,234,567.
func thousands(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
