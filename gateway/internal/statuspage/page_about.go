// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"strings"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

type protocolPage struct {
	APIs   []apiRow
	Served int
}

type apiRow struct {
	wire.API
	// Advertised is what ApiVersions names, in words.
	Advertised string
}

func (protocolPage) template() string { return "protocol" }
func (protocolPage) title() string    { return "Protocol" }

func (p *Page) protocol(*request) (body, error) {
	var out protocolPage
	for _, api := range p.cfg.APIs {
		row := apiRow{API: api, Advertised: "no"}
		switch {
		case api.Advertised():
			row.Advertised = versions(api.AdvertisedMin, api.Max)
		case api.Hidden:
			row.Advertised = "no, as clients do not authenticate"
		}
		if api.Served {
			out.Served++
		}
		out.APIs = append(out.APIs, row)
	}
	return out, nil
}

// Versions are those served.
func (a apiRow) Versions() string { return versions(a.Min, a.Max) }

func versions(low, high int16) string {
	if low == high {
		return number(int32(low))
	}
	return number(int32(low)) + "–" + number(int32(high))
}

type settingsPage struct {
	List     *listing
	Settings []topicconfig.Setting
	Changed  int
	Only     bool // those that are not at their default
	Toggle   string
}

func (settingsPage) template() string { return "settings" }
func (settingsPage) title() string    { return "Settings" }

func (p *Page) settings(q *request) (body, error) {
	if !q.access.MayReadServers() {
		return nil, errForbidden
	}
	out := settingsPage{Only: q.URL.Query().Get("changed") == "only"}
	var rows []topicconfig.Setting
	for _, s := range p.cfg.Settings {
		if !s.Default {
			out.Changed++
		}
		if !out.Only || !s.Default {
			rows = append(rows, s)
		}
	}
	out.Settings, out.List = list(q, rows, func(s *topicconfig.Setting, search string) bool {
		return strings.Contains(strings.ToLower(s.Name+" "+s.Doc), search)
	}, []column[topicconfig.Setting]{by("name", func(s *topicconfig.Setting) string { return s.Name })})
	if out.Only {
		out.List.keep("changed", "only")
		out.Toggle = out.List.link("changed", "")
	} else {
		out.Toggle = out.List.link("changed", "only")
	}
	return out, nil
}
