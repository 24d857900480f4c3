// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/outcomes"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

type clientsPage struct {
	List     *listing
	Clients  []clientRow
	Software inventory
	SASL     bool
}

type clientRow struct {
	server.ConnectionInfo
	Software  string
	Last      event
	LastError event
}

// event is a server.Event in words; At is zero where there was none.
type event struct {
	API, Error string
	Routine    bool // the error is none to worry about
	At         time.Time
}

func (clientsPage) template() string { return "clients" }
func (clientsPage) title() string    { return "Clients" }

func (p *Page) clients(q *request) (body, error) {
	if !q.access.MayReadServers() {
		return nil, errForbidden
	}
	names := make(map[int16]string, len(p.cfg.APIs))
	for _, api := range p.cfg.APIs {
		names[api.Key] = api.Name
	}
	conns := p.cfg.Connections()
	rows := make([]clientRow, len(conns))
	for i, c := range conns {
		rows[i] = clientRow{c, softwareOf(&c), inWords(names, c.Last), inWords(names, c.LastError)}
	}
	out := clientsPage{Software: software(conns), SASL: p.cfg.Login != nil}
	matches := func(c *clientRow, search string) bool {
		for _, text := range []string{c.ClientID, c.Software, c.Remote, c.User, c.LastError.Error} {
			if strings.Contains(strings.ToLower(text), search) {
				return true
			}
		}
		return false
	}
	out.Clients, out.List = list(q, rows, matches, []column[clientRow]{
		by("since", func(c *clientRow) uint64 { return c.ID }),
		by("client", func(c *clientRow) string { return c.ClientID }),
		by("software", func(c *clientRow) string { return c.Software }),
		by("address", func(c *clientRow) string { return c.Remote }),
		by("user", func(c *clientRow) string { return c.User }),
		by("requests", func(c *clientRow) uint64 { return c.Requests }),
		by("last", func(c *clientRow) int64 { return c.Last.At.UnixNano() }),
		by("error", func(c *clientRow) int64 { return c.LastError.At.UnixNano() }),
	})
	return out, nil
}

// inWords names an event's API and error as Kafka does.
func inWords(names map[int16]string, e server.Event) event {
	if e.At.IsZero() {
		return event{}
	}
	out := event{API: cmp.Or(names[e.Key], fmt.Sprintf("API %d", e.Key)), At: e.At}
	if e.Code != 0 {
		out.Error, out.Routine = outcomes.Name(outcomes.Slot(e.Code)), routine(e.Code)
	}
	return out
}

// softwareOf is what a client calls itself.
func softwareOf(c *server.ConnectionInfo) string {
	return strings.TrimSpace(c.SoftwareName + " " + c.SoftwareVersion)
}

// maxKinds is how many kinds of software are listed: what clients call themselves is up to them.
const maxKinds = 20

// inventory is what software clients are, by how many connections have it.
type inventory struct {
	Kinds  int
	Listed []counted // the most frequent
	Others int       // connections that are not of these
}

// software counts connections by what clients call themselves.
func software(conns []server.ConnectionInfo) inventory {
	counts := map[string]int{}
	for i := range conns {
		counts[cmp.Or(softwareOf(&conns[i]), "does not say")]++
	}
	all := byCount(counts)
	out := inventory{Kinds: len(all), Listed: all[:min(len(all), maxKinds)]}
	for _, c := range all[len(out.Listed):] {
		out.Others += c.Count
	}
	return out
}

// routine says whether an answer with that error code belongs to how the protocol goes: a group that comes together, a cache that
// has forgotten.
func routine(code int16) bool {
	switch code {
	case kerr.MemberIDRequired.Code, kerr.RebalanceInProgress.Code, kerr.FetchSessionIDNotFound.Code, kerr.InvalidFetchSessionEpoch.Code:
		return true
	}
	return false
}
