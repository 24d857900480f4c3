// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/metrics"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

const (
	metricsPage  = "../../../docs/metrics.md"
	beginMetrics = "<!-- begin: made from gateway/internal/metrics by go test ./internal/docs -rewrite, in gateway -->\n"
	beginCauses  = "<!-- begin: made from gateway/internal/server/closecause.go by go test ./internal/docs -rewrite, in gateway -->\n"
)

func TestMetrics(t *testing.T) {
	page := read(t, metricsPage)
	want := between(t, page, beginMetrics, metricsTable())
	compare(t, metricsPage, page, between(t, want, beginCauses, causes()))
}

// between replaces what stands between a beginning and the next end.
func between(t *testing.T, page, begin, part string) string {
	t.Helper()
	head, rest, ok1 := strings.Cut(page, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("the page lacks the place for what begins %q", begin)
	}
	return head + begin + part + end + tail
}

func metricsTable() string {
	var out strings.Builder
	out.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range metrics.Families() {
		labels := make([]string, len(f.Labels))
		for i, l := range f.Labels {
			labels[i] = code(l)
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(labels, ", "), f.Help)
	}
	return out.String()
}

func causes() string {
	var out strings.Builder
	for _, c := range server.CloseCauses() {
		fmt.Fprintf(&out, "- `%v`\n", c)
	}
	return out.String()
}
