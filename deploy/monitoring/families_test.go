// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

const metricsPage = "../../docs/metrics.md"

// labelsOf are the labels of each series that there is, by its name.
type labelsOf map[string][]string

// known reads what the gateway tells from the page, and adds what Prometheus and its library do.
func known(t *testing.T) labelsOf {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	series := labelsOf{
		"up":                            nil,
		"process_resident_memory_bytes": nil,
		"process_cpu_seconds_total":     nil,
		"go_memstats_heap_inuse_bytes":  nil,
	}
	row := regexp.MustCompile("(?m)^\\| `(iggy_kafka_\\w+)` \\| (\\w+) \\| ([^|]*) \\|")
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		name, names := cells[1], regexp.MustCompile(`\w+`).FindAllString(cells[3], -1)
		switch cells[2] {
		case "histogram":
			series[name+"_bucket"] = append(slices.Clone(names), "le")
			fallthrough
		case "summary":
			series[name+"_sum"], series[name+"_count"] = names, names
		default:
			series[name] = names
		}
	}
	if len(series) < 50 {
		t.Fatalf("found only %d series in %s", len(series), metricsPage)
	}
	return series
}

// causes are the values of the label of that name, by the page.
func causes(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "## Causes of closed connections")
	var all []string
	for _, m := range regexp.MustCompile("(?m)^- `(\\w+)`$").FindAllStringSubmatch(list, -1) {
		all = append(all, m[1])
	}
	if len(all) < 10 {
		t.Fatalf("found only the causes %v", all)
	}
	return all
}

// target are the labels that Prometheus adds to every series.
var target = []string{"job", "instance"}

// faults says what an expression asks for that there is not.
func (s labelsOf) faults(expr string) (faults []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string // labels of the series in the expression
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			have, known := s[v.Name]
			if !known {
				faults = append(faults, fmt.Sprintf("there is no metric %q", v.Name))
				return nil
			}
			all = append(append(all, have...), target...)
			for _, m := range v.LabelMatchers {
				if m.Name != model.MetricNameLabel && !slices.Contains(have, m.Name) && !slices.Contains(target, m.Name) {
					faults = append(faults, fmt.Sprintf("%s has no label %q", v.Name, m.Name))
				}
			}
		}
		return nil
	})
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		var asked []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			asked = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				asked = append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...)
			}
		}
		for _, label := range asked {
			if !slices.Contains(all, label) {
				faults = append(faults, fmt.Sprintf("nothing in it has a label %q", label))
			}
		}
		return nil
	})
	return faults
}

// The check itself finds what it is for.
func TestFaults(t *testing.T) {
	series := known(t)
	for _, test := range []struct{ expr, want string }{
		{`sum by (api) (rate(iggy_kafka_requests_total{error="NONE"}[5m]))`, ""},
		{`up{job="x"} == 0`, ""},
		{`rate(iggy_kafka_requests_total[5m]`, "unclosed left parenthesis"},
		{`iggy_kafka_request_total`, `there is no metric "iggy_kafka_request_total"`},
		{`iggy_kafka_request_duration_seconds`, `there is no metric "iggy_kafka_request_duration_seconds"`},
		{`iggy_kafka_requests_total{topic="a"}`, `iggy_kafka_requests_total has no label "topic"`},
		{`sum by (group) (iggy_kafka_requests_total)`, `nothing in it has a label "group"`},
		{`iggy_kafka_connections / on (zone) iggy_kafka_connections_limit`, `nothing in it has a label "zone"`},
	} {
		got := strings.Join(series.faults(test.expr), "; ")
		if got != test.want && (test.want == "" || !strings.Contains(got, test.want)) {
			t.Errorf("%s: %q, want %q", test.expr, got, test.want)
		}
	}
}
