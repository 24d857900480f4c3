// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What documents advise to ask Prometheus, and the metrics that they name, are there.
func TestDocuments(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	series, queries := known(t), 0
	family := map[string]bool{}
	for name := range series {
		family[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")] = true
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			queries++
			for _, fault := range series.faults(block[1]) {
				t.Errorf("%s: %s", page, fault)
			}
		}
		for _, name := range regexp.MustCompile(`\biggy_kafka_[a-z_]+[a-z]\b`).FindAllString(string(text), -1) {
			if _, ok := series[name]; !ok && !family[name] {
				t.Errorf("%s: there is no metric %s", page, name)
			}
		}
	}
	if queries == 0 {
		t.Error("no queries found")
	}
}
