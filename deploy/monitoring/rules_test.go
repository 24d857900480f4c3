// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	rulesFile  = "../prometheus/iggy-kafka.rules.yml"
	rulesTests = "../prometheus/tests/iggy-kafka.yml"
	runbook    = "https://github.com/iggy-kafka/iggy-kafka/blob/main/docs/operations.md"
)

func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func TestRules(t *testing.T) {
	series, seen := known(t), map[string]bool{}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		for _, fault := range series.faults(r.Expr) {
			t.Errorf("%s: %s", r.Alert, fault)
		}
		if seen[r.Alert] {
			t.Errorf("there are two alerts %s", r.Alert)
		}
		seen[r.Alert] = true
		if !regexp.MustCompile(`^IggyKafka[A-Z]\w+$`).MatchString(r.Alert) {
			t.Errorf("the name %q", r.Alert)
		}
		if severity := r.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s: severity %q", r.Alert, severity)
		}
		if r.Annotations["summary"] == "" {
			t.Errorf("%s: no summary", r.Alert)
		}
		if want := runbook + "#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: the runbook is %q, not %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if !strings.Contains(string(page), "\n### "+r.Alert+"\n") {
			t.Errorf("%s: no section in docs/operations.md", r.Alert)
		}
		for _, cause := range regexp.MustCompile(`cause="(\w+)"`).FindAllStringSubmatch(r.Expr, -1) {
			if !slices.Contains(causes(t), cause[1]) {
				t.Errorf("%s: no connection is closed because of %q", r.Alert, cause[1])
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d alerts", len(seen))
	}
}

// Every alert has an example in which it fires. TestPromtool shows that the examples are right.
func TestEveryRuleIsTested(t *testing.T) {
	examples, err := os.ReadFile(rulesTests)
	if err != nil {
		t.Fatal(err)
	}
	fires := regexp.MustCompile(`alertname: (\w+)\n\s+exp_alerts:\n`)
	tested := map[string]bool{}
	for _, m := range fires.FindAllStringSubmatch(string(examples), -1) {
		tested[m[1]] = true
	}
	for _, r := range rules(t) {
		if !tested[r.Alert] {
			t.Errorf("%s has no test in which it fires", r.Alert)
		}
	}
}

// What Prometheus itself thinks of the rules, and whether they fire when they should.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("REQUIRE_PROMTOOL") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, args := range [][]string{
		{"check", "rules", rulesFile},
		{"test", "rules", rulesTests},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
