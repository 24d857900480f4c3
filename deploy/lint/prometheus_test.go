// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

const prometheusFile = "../docker/prometheus.yaml"

// TestPrometheus lets Prometheus' own tool read what compose.yaml gives to it. The folder of the rules is only there in the container.
func TestPrometheus(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("REQUIRE_PROMTOOL") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "config", "--syntax-only", prometheusFile).CombinedOutput(); err != nil {
		t.Errorf("promtool check config: %v\n%s", err, out)
	}
}

// TestJobs: some alerts are about a job by its name, so whatever has a gateway scraped must call it that.
func TestJobs(t *testing.T) {
	var rules string
	for _, match := range regexp.MustCompile(`job="([^"]*)"`).FindAllStringSubmatch(string(read(t, "../prometheus/iggy-kafka.rules.yml")), -1) {
		if rules != "" && rules != match[1] {
			t.Errorf("rules ask for the jobs %s and %s", rules, match[1])
		}
		rules = match[1]
	}
	if rules == "" {
		t.Fatal("no rule asks for a job: is the pattern right?")
	}

	var config struct {
		ScrapeConfigs []struct {
			JobName string `json:"job_name"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(read(t, prometheusFile), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.ScrapeConfigs) != 1 || config.ScrapeConfigs[0].JobName != rules {
		t.Errorf("compose's Prometheus has %v, the rules ask for %s", config.ScrapeConfigs, rules)
	}

	m := load(t)
	for _, service := range m.services {
		if job := service.Labels[m.monitors[0].Spec.JobLabel]; job != rules {
			t.Errorf("by the ServiceMonitor, Service %s is job %q, the rules ask for %s", service.Name, job, rules)
		}
	}
}
