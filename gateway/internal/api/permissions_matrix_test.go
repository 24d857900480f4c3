// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Users with each single permission of Iggy's are answered what testdata/permissions.txt says, by every API in every version
// that is served.
func TestPermissions(t *testing.T) {
	table := readMatrix(t, "testdata/permissions.txt")
	table.coverAll(t)
	iggytest.Each(t, func(t *testing.T, server *iggytest.Server) {
		w := newPermissionWorld(t, server)
		for _, u := range w.users {
			t.Run(u.grant, func(t *testing.T) {
				c := w.gateway.dial(t)
				c.login(u.name, permissionPassword)
				for _, row := range table.rows {
					want := table.expect(t, row, u.grant)
					for version := row.min; version <= row.max; version++ {
						c.send(u.request(t, row.key, row.what, version))
						if got := u.describe(row.what, c.receive()); got != want {
							t.Errorf("line %d: %s v%d, %s: %s, want %s", row.line, kmsg.NameForKey(row.key), version, row.what, got, want)
						}
						if row.key == int16(kmsg.DeleteTopics) && want == "0" {
							break // it is gone
						}
					}
				}
			})
		}
	})
}

// matrix is what testdata/permissions.txt says.
type matrix struct {
	classes map[string][]string // with the names of other classes resolved
	rows    []matrixRow
}

type matrixRow struct {
	line     int
	key      int16
	min, max int16
	what     string
	answers  []matrixAnswer
}

type matrixAnswer struct{ class, answer string }

func readMatrix(t *testing.T, path string) *matrix {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &matrix{classes: map[string][]string{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "class":
			for _, member := range fields[2:] {
				if of, isClass := m.classes[member]; isClass {
					m.classes[fields[1]] = append(m.classes[fields[1]], of...)
				} else {
					m.classes[fields[1]] = append(m.classes[fields[1]], member)
				}
			}
		default:
			row, err := parseMatrixRow(fields)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, n, err)
			}
			row.line = n
			m.rows = append(m.rows, row)
		}
	}
	return m
}

// parseMatrixRow reads KEY[/MIN[-MAX]] WHAT CLASS:ANSWER...
func parseMatrixRow(fields []string) (row matrixRow, err error) {
	if len(fields) < 3 {
		return row, fmt.Errorf("%d fields", len(fields))
	}
	key, versions, some := strings.Cut(fields[0], "/")
	number := func(s string) int16 {
		n, no := strconv.ParseInt(s, 10, 16)
		if no != nil {
			err = no
		}
		return int16(n)
	}
	row.key, row.what = number(key), fields[1]
	for _, api := range wire.NewTable().APIs() {
		if api.Key == row.key && api.Served {
			row.min, row.max = api.Min, api.Max
		}
	}
	if some {
		first, last, isRange := strings.Cut(versions, "-")
		row.min = number(first)
		if row.max = row.min; isRange {
			row.max = number(last)
		}
	}
	for _, f := range fields[2:] {
		class, answer, ok := strings.Cut(f, ":")
		if !ok {
			return row, fmt.Errorf("no answer in %q", f)
		}
		row.answers = append(row.answers, matrixAnswer{class, answer})
	}
	return row, err
}

// expect is the answer for who has a grant.
func (m *matrix) expect(t *testing.T, row matrixRow, grant string) string {
	for _, a := range row.answers {
		members, known := m.classes[a.class]
		if a.class == "*" || slices.Contains(members, grant) {
			return a.answer
		}
		if !known {
			t.Fatalf("line %d: no class %q", row.line, a.class)
		}
	}
	t.Fatalf("line %d: nothing for %s", row.line, grant)
	return ""
}

// coverAll insists on a row for every version of every API that is served.
func (m *matrix) coverAll(t *testing.T) {
	t.Helper()
	for _, api := range wire.NewTable().APIs() {
		for version := api.Min; api.Served && version <= api.Max; version++ {
			if !slices.ContainsFunc(m.rows, func(r matrixRow) bool { return r.key == api.Key && r.min <= version && version <= r.max }) {
				t.Errorf("%s v%d is served, and no row says to whom", api.Name, version)
			}
		}
	}
}

const permissionPassword = "a secret of theirs"

// permissionWorld is a gateway in front of an Iggy with a user for each grant. Each has topics of its own: what it does
// changes nothing for the others.
type permissionWorld struct {
	gateway *gateway
	root    *iggytest.Client
	users   []*permissionUser
}

type permissionUser struct {
	name, grant string
	group       string                    // it has offsets in all topics
	topics      map[string]string         // by place: here, beside, away
	ids         map[string]bridge.TopicID // by place
}

func newPermissionWorld(t *testing.T, server *iggytest.Server) *permissionWorld {
	t.Helper()
	w := &permissionWorld{root: server.Dial(t)}
	stream, other := server.Prefix+"one", server.Prefix+"two"
	one := w.root.NewStream(stream)
	w.root.NewStream(other)
	topicMap := fmt.Appendf(nil, "default_stream = %q\n", stream)
	for i := range iggytest.Grants(iggytest.Place{}) {
		u := &permissionUser{name: fmt.Sprintf("%suser-%d", server.Prefix, i), topics: map[string]string{}, ids: map[string]bridge.TopicID{}}
		for _, place := range []string{"here", "beside", "away"} {
			u.topics[place] = fmt.Sprintf("%s-%d", place, i)
		}
		u.group = fmt.Sprintf("group-%d", i)
		u.topics["missing"], u.topics["new"], u.topics["bad-name"], u.topics["internal"] = "missing", fmt.Sprintf("new-%d", i), "bad name!", internalTopic
		at := iggytest.Place{Stream: one.ID, Topic: w.root.NewTopic(stream, u.topics["here"]).ID}
		w.root.NewTopic(stream, u.topics["beside"])
		w.root.NewTopic(other, u.topics["away"])
		topicMap = fmt.Appendf(topicMap, "[topics.%q]\nstream = %q\ntopic = %q\n", u.topics["away"], other, u.topics["away"])
		grant := iggytest.Grants(at)[i]
		u.grant = grant.Name
		w.root.NewUser(u.name, permissionPassword, grant.Permissions)
		w.users = append(w.users, u)
	}
	names, err := bridge.ParseTopicMap(topicMap)
	if err != nil {
		t.Fatal(err)
	}
	w.gateway = start(t, setup{authenticate: true, iggyAddr: server.Addr, bridge: func(cfg *bridge.Config) {
		cfg.Username, cfg.Password, cfg.Names = server.Username, server.Password, names
	}})
	view, err := w.gateway.bridge.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range w.users {
		for _, place := range []string{"here", "beside", "away"} {
			topic, ok := view.ByName(u.topics[place])
			if !ok {
				t.Fatalf("no topic %q", u.topics[place])
			}
			u.ids[place] = topic.ID
		}
		u.ids["missing"] = bridge.TopicID{1}
	}
	w.commit(t, server)
	return w
}

// commit stores an offset in each topic of each user.
func (w *permissionWorld) commit(t *testing.T, server *iggytest.Server) {
	t.Helper()
	c := w.gateway.dial(t)
	c.login(server.Username, server.Password)
	for _, u := range w.users {
		req := commitRequest(8, u.group, "", -1, part{topic: u.topics["here"]}, part{topic: u.topics["beside"]}, part{topic: u.topics["away"]})
		if got := u.describe("", ask[*kmsg.OffsetCommitResponse](c, req)); got != "0" {
			t.Fatalf("offsets of %s: %s", u.grant, got)
		}
	}
}

// describe puts an answer into the words of the table: each error code that is in it, with its place, or what topics it shows
// where all are asked for.
func (u *permissionUser) describe(what string, resp kmsg.Response) string {
	var codes []string
	findCodes(reflect.ValueOf(resp).Elem(), "", &codes)
	if codes != nil {
		slices.Sort(codes)
		return strings.Join(slices.Compact(codes), ",")
	}
	var topics []string
	switch resp := resp.(type) {
	case *kmsg.MetadataResponse:
		for _, t := range resp.Topics {
			topics = append(topics, *t.Topic)
		}
	case *kmsg.DescribeTopicPartitionsResponse:
		for _, t := range resp.Topics {
			topics = append(topics, *t.Topic)
		}
	case *kmsg.OffsetFetchResponse:
		for _, t := range resp.Topics {
			topics = append(topics, t.Topic)
		}
		for _, g := range resp.Groups {
			for _, t := range g.Topics {
				topics = append(topics, t.Topic)
			}
		}
	case *kmsg.DescribeLogDirsResponse:
		if len(resp.Dirs) == 0 {
			return "no-directories"
		}
		return "0"
	default:
		return "0"
	}
	if what != "all" {
		return "0"
	}
	return u.places(topics)
}

// places says which of the user's topics are among those.
func (u *permissionUser) places(topics []string) string {
	var shown []string
	for _, place := range []string{"here", "beside", "away"} {
		if slices.Contains(topics, u.topics[place]) {
			shown = append(shown, place)
		}
	}
	if shown == nil {
		return "nothing"
	}
	return strings.Join(shown, ",")
}

// findCodes lists the error codes in an answer as CODE@PLACE.
func findCodes(v reflect.Value, place string, codes *[]string) {
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		switch {
		case name == "ErrorCode" && field.Int() != 0:
			*codes = append(*codes, fmt.Sprintf("%d@%s", field.Int(), place))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			inner := strings.TrimPrefix(place+"."+name, ".")
			for j := range field.Len() {
				findCodes(field.Index(j), inner, codes)
			}
		}
	}
}
