// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The values of a sample.
const (
	rate        = iota // records/s, or what else an operation consists of
	p50                // ms
	p99                // ms
	gatewayCPU         // s per million records
	gatewayPeak        // MiB
	storeCPU           // the Iggy server's or the broker's
	storePeak
	values
)

// sample is what one contestant's turn at one operation gave.
type sample [values]float64

func newSample() sample {
	var s sample
	for i := range s {
		s[i] = none()
	}
	return s
}

// measured is each value over the rounds.
type measured [values][]float64

func (m *measured) add(s sample) {
	for i, value := range s {
		m[i] = append(m[i], value)
	}
}

// results are one operation's, by contestant.
type results struct {
	operation   operation
	contestants []contestant
	measured    []measured
}

// sdk is the official client on the same server as contestant i, kafka the same client on the broker; nil: not there.
func (r *results) sdk(i int) *measured {
	return r.find(func(c contestant) bool { return c.target == r.contestants[i].target && c.name == clientSDK })
}

// plain is the same client on the same target without idempotence.
func (r *results) plain(i int) *measured {
	return r.find(func(c contestant) bool { return c.target == r.contestants[i].target && c.name == clientPlain })
}

// beside is the same client on the gateway for comparison.
func (r *results) beside(i int) *measured {
	return r.find(func(c contestant) bool {
		return c.target.Name == r.contestants[i].target.Name+besideSuffix && c.name == r.contestants[i].name
	})
}

func (r *results) kafka(i int) *measured {
	return r.find(func(c contestant) bool { return c.target.Name == "kafka" && c.name == r.contestants[i].name })
}

func (r *results) find(is func(contestant) bool) *measured {
	if i := slices.IndexFunc(r.contestants, is); i >= 0 {
		return &r.measured[i]
	}
	return nil
}

// column makes a cell of contestant i.
type column struct {
	title string
	cell  func(r *results, i int, w workload) string
}

func throughputColumns() []column {
	return []column{
		{"records/s", func(r *results, i int, _ workload) string { return spread("%.0f", r.measured[i][rate]) }},
		{"MB/s", func(r *results, i int, w workload) string {
			return fmt.Sprintf("%.1f", median(r.measured[i][rate])*float64(w.size)/1e6)
		}},
		{"p50 ms", value(p50, "%.1f")},
		{"p99 ms", value(p99, "%.1f")},
		{"gateway CPU s/M", value(gatewayCPU, "%.2f")},
		{"peak MiB", value(gatewayPeak, "%.0f")},
		{"store CPU s/M", value(storeCPU, "%.2f")},
		{"peak MiB", value(storePeak, "%.0f")},
		{"rate / SDK", ratio(rate, (*results).sdk)},
		{"rate / plain", ratio(rate, (*results).plain)},
		{"CPU / plain", ratio(gatewayCPU, (*results).plain)},
		{"rate / beside", ratio(rate, (*results).beside)},
		{"CPU / beside", ratio(gatewayCPU, (*results).beside)},
		{"rate / Kafka", ratio(rate, (*results).kafka)},
		{"p50 / Kafka", ratio(p50, (*results).kafka)},
		{"p99 / Kafka", ratio(p99, (*results).kafka)},
	}
}

func latencyColumns() []column {
	return []column{
		{"p50 ms", func(r *results, i int, _ workload) string { return spread("%.3f", r.measured[i][p50]) }},
		{"p99 ms", value(p99, "%.3f")},
		{"gateway CPU s/M", value(gatewayCPU, "%.0f")},
		{"store CPU s/M", value(storeCPU, "%.0f")},
		{"p50 / SDK", ratio(p50, (*results).sdk)},
		{"p50 / beside", ratio(p50, (*results).beside)},
		{"CPU / beside", ratio(gatewayCPU, (*results).beside)},
		{"p50 / Kafka", ratio(p50, (*results).kafka)},
	}
}

func value(v int, format string) func(*results, int, workload) string {
	return func(r *results, i int, _ workload) string { return middle(format, r.measured[i][v]) }
}

// ratio compares within the rounds; nobody is compared with himself.
func ratio(v int, other func(*results, int) *measured) func(*results, int, workload) string {
	return func(r *results, i int, _ workload) string {
		o := other(r, i)
		if o == nil || o == &r.measured[i] {
			return spread("", nil)
		}
		return spread("%.2f", ratios(r.measured[i][v], o[v]))
	}
}

// print writes a table without the columns in which nothing stands, and without contestants who could not do it.
func (r *results) print(out io.Writer, pairs int, w workload) error {
	rows := [][]string{{"", ""}}
	for _, c := range r.operation.columns {
		rows[0] = append(rows[0], c.title)
	}
	for i, c := range r.contestants {
		if len(known(r.measured[i][rate])) == 0 {
			continue
		}
		row := []string{c.target.Name, c.name}
		for _, column := range r.operation.columns {
			row = append(row, column.cell(r, i, w))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s: %s; rounds: %d\n\n%s\n", r.operation.name, r.operation.work(w), pairs, table(rows))
	return err
}

// table formats Markdown; the first row is the head.
func table(rows [][]string) string {
	empty := spread("", nil)
	filled := func(column int) bool {
		return slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != empty })
	}
	var b strings.Builder
	line := func(cells func(column int) string) {
		b.WriteByte('|')
		for column := range rows[0] {
			if filled(column) {
				b.WriteString(cells(column))
			}
		}
		b.WriteByte('\n')
	}
	for n, row := range rows {
		line(func(column int) string { return " " + row[column] + " |" })
		if n == 0 {
			line(func(column int) string {
				if column < 2 {
					return "---|"
				}
				return "---:|"
			})
		}
	}
	return b.String()
}
