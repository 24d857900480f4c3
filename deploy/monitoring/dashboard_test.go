// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const dashboardFile = "../grafana/iggy-kafka.json"

// read returns the dashboard as Grafana's own types have it, and fails for what these do not know.
//
//lint:ignore SA1019 Every Grafana imports this schema; the newer one needs Grafana 12.
func read(t *testing.T) dashboard.Dashboard {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard.Dashboard //lint:ignore SA1019 as above
	err = d.UnmarshalJSONStrict(text)
	if faults, ok := err.(cog.BuildErrors); err != nil && (!ok || len(faults) > 0) { // for no fault it returns an empty list
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboard(t *testing.T) {
	d := read(t)
	if d.Title == nil || d.Uid == nil || len(d.Panels) < 20 {
		t.Fatalf("title %v, uid %v, %d panels", d.Title, d.Uid, len(d.Panels))
	}
	ids, taken := map[uint32]bool{}, map[string]string{}
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue // a row
		}
		if p.Panel.Title == nil || p.Panel.Id == nil || p.Panel.GridPos == nil {
			t.Fatalf("a panel without title, id or place: %+v", p.Panel)
		}
		title := *p.Panel.Title
		if ids[*p.Panel.Id] {
			t.Errorf("%s: another panel has its id", title)
		}
		ids[*p.Panel.Id] = true
		g := p.Panel.GridPos
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				cell := fmt.Sprint(x, " ", y)
				if other, ok := taken[cell]; ok {
					t.Fatalf("%s lies over %s", title, other)
				}
				taken[cell] = title
			}
		}
		if g.X+g.W > 24 {
			t.Errorf("%s goes beyond the 24 columns", title)
		}
	}
}

// query is what matters of a panel's target.
type query struct {
	RefID, Expr string
	Datasource  struct{ UID string }
}

func TestDashboardQueries(t *testing.T) {
	series, checked := known(t), 0
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title, Type string
			Targets     []query
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	// What Grafana puts in their place.
	variables := strings.NewReplacer("$__rate_interval", "1m", "$instance", "a")
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, q := range p.Targets {
			checked++
			expr := variables.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s, %s: a variable that is not known", p.Title, q.RefID)
			}
			for _, fault := range series.faults(expr) {
				t.Errorf("%s, %s: %s", p.Title, q.RefID, fault)
			}
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s, %s: the data source %q", p.Title, q.RefID, q.Datasource.UID)
			}
		}
	}
	for _, v := range d.Templating.List {
		name, ok := strings.CutPrefix(v.Definition, "label_values(")
		name, _, _ = strings.Cut(name, ",")
		if _, known := series[name]; ok && !known {
			t.Errorf("the variable %s: there is no metric %q", v.Name, name)
		}
	}
	if checked < 40 {
		t.Errorf("only %d queries", checked)
	}
}
