// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files of testdata")

// assetHash is the part of an asset's path that changes with its content.
var assetHash = regexp.MustCompile(`(/static/[a-z]+)-[0-9a-f]+`)

// own is what a page has of its own: the rest is the layout's.
var own = regexp.MustCompile(`(?s)<title>.*?</title>|<noscript>.*?</noscript>|<a [^>]*aria-current="page">.*?</a>|<main .*</main>`)

// Every page of a small gateway, as a browser gets it. The layout is in the files of those alone on which it differs.
func TestGoldens(t *testing.T) {
	goldens := map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(time.Now())
		p := newPage(t, w.config(time.Now))
		page(t, p, "/")
		time.Sleep(10 * time.Second)
		w.topic("orders", 0, 1_205_551, 200, 1_100_005, 0, 0) // rates
		for name, path := range map[string]string{
			"overview": "/", "topics": "/topics", "topics-searched": "/topics?q=PAY&sort=rate&order=down&rows=1", "topic": "/topic?name=orders",
			"topic-empty": "/topic?name=nothing-yet", "groups": "/groups?sort=lag&order=down", "groups-in-state": "/groups?state=Empty", "group": "/group?id=billing",
			"group-without-an-id": "/group?id=", "group-of-no-consumers": "/group?id=connect", "clients": "/clients?q=java", "protocol": "/protocol",
			"settings": "/settings", "settings-changed": "/settings?changed=only",
		} {
			goldens[name] = page(t, p, path)
		}
		goldens["not-found"] = wantStatus(t, p, http.StatusNotFound, "/topic?name=other").Body.String()
		time.Sleep(time.Minute)
		w.iggy, w.coordinator = errors.New("iggy at 10.0.0.1: refused"), coordinator.ErrLoadInProgress
		goldens["iggy-away"] = page(t, p, "/topics")
	})
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		c := w.config(time.Now)
		stopping := make(chan struct{})
		close(stopping)
		c.Gateway.Iggy, c.Readiness = "", w.readiness(stopping).Ask
		goldens["nothing"] = page(t, newPage(t, c), "/")
	})
	for name, got := range goldens {
		got = assetHash.ReplaceAllString(got, "$1-HASH")
		if whole := name == "overview" || name == "iggy-away" || name == "nothing"; !whole {
			got = strings.Join(own.FindAllString(got, -1), "\n") + "\n"
		}
		file := filepath.Join("testdata", "golden", name+".html")
		if *rewrite {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What clients choose (topics made in Iggy may have names that Kafka does not allow, but these never get here): ids of clients,
// groups, members and software, users, error texts. None of it ends up as anything but text.
func TestHostileNames(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'{{.}}` + "\x00\r\nSet-Cookie: a=b\u202e"
	w := newWorld(time.Now())
	w.topic(evil, 0, 5)
	for i := range w.groups {
		if g := &w.groups[i]; g.id == "billing" {
			g.id, g.d.Protocol, g.d.ProtocolType = evil, evil, "consumer"
			m := &g.d.Members[0]
			m.MemberID, m.InstanceID, m.ClientID, m.ClientHost = evil, evil, evil, evil
			m.Assignment = assignment(map[string][]int32{evil: {0}, "a" + evil: {1}})
			g.offsets = append(g.offsets, offset(evil, 0, 1), offset("b"+evil, 0, 1))
		}
	}
	c := &w.conns[0]
	c.ClientID, c.SoftwareName, c.SoftwareVersion, c.User, c.Remote = evil, evil, evil, evil, evil
	p := newPage(t, w.config(time.Now))
	for _, path := range []string{
		"/", "/topics", "/topic?name=" + escaped(evil), "/groups", "/groups?state=" + escaped(evil), "/group?id=" + escaped(evil), "/clients", "/settings?q=" + escaped(evil),
		"/topics?q=" + escaped(evil) + "&rows=1&sort=" + escaped(evil), "/clients?page=" + escaped(evil), "/nothing/" + escaped(evil) + "?" + escaped(evil),
	} {
		got := get(p, path)
		body := got.Body.String()
		for _, part := range []string{"<script>alert", "<img src=x", "onerror=alert(1)>", "{{.}}<"} {
			if strings.Contains(body, part) {
				t.Errorf("%s: %q is in the page", path, part)
			}
		}
		if strings.Count(body, "<script") != 1 || strings.Count(body, "<img") != 1 {
			t.Errorf("%s: there are elements that are not ours", path)
		}
		if regexp.MustCompile(`(?i)(href|src|action)="(javascript|data|vbscript):`).MatchString(body) {
			t.Errorf("%s: a link to a script", path)
		}
		for name, values := range got.Header() {
			if name == "Set-Cookie" || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("%s: header %s: %q", path, name, values)
			}
		}
	}
}

// What every answer says to the browser, static files and refusals included.
func TestHeaders(t *testing.T) {
	w := newWorld(time.Now())
	p := newPage(t, w.config(time.Now))
	for _, path := range append(paths(), "/nowhere", p.assets.Style, p.assets.Script, p.assets.Icon, "/static/none.css") {
		h := get(p, path).Header()
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", path, name, got, want)
			}
		}
		if _, fixed := p.assets.static[path]; (h.Get("Cache-Control") == "no-store") == fixed {
			t.Errorf("%s: may be kept: %q", path, h.Get("Cache-Control"))
		}
	}
	for path, want := range map[string]string{
		p.assets.Style: "text/css; charset=utf-8", p.assets.Script: "text/javascript; charset=utf-8", p.assets.Icon: "image/svg+xml", "/": "text/html; charset=utf-8",
	} {
		if got := get(p, path).Header().Get("Content-Type"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Pages load nothing but what the gateway serves, run nothing that is written into them, and are styled by no attribute: the policy
// would not let them.
func TestPagesKeepToTheirPolicy(t *testing.T) {
	w := newWorld(time.Now())
	p := newPage(t, w.config(time.Now))
	for _, path := range paths() {
		body := page(t, p, path)
		for _, pattern := range []string{`\son[a-z]+=`, `\sstyle=`, `<style`, `(src|href|action)="(https?:)?//`, `<script>`} {
			if found := regexp.MustCompile(pattern).FindString(body); found != "" {
				t.Errorf("%s: has %q", path, found)
			}
		}
	}
}

// Each page has what somebody needs who does not see it, or has no mouse.
func TestAccessible(t *testing.T) {
	w := newWorld(time.Now())
	p := newPage(t, w.config(time.Now))
	for _, path := range paths() {
		body := page(t, p, path)
		for _, part := range []string{`<html lang="en">`, `<a class="skip" href="#main">`, `<main id="main"`, `<nav aria-label=`, `<header`, `<footer`, `aria-current="page"`} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: has no %s", path, part)
			}
		}
		if n := strings.Count(body, "<h1>"); n != 1 {
			t.Errorf("%s: %d headings of the first level", path, n)
		}
		if plain := regexp.MustCompile(`<th(>| class)`).FindString(body); plain != "" {
			t.Errorf("%s: a table heading that does not say of what", path)
		}
		ids := map[string]bool{}
		for _, found := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if ids[found[1]] {
				t.Errorf("%s: the id %q twice", path, found[1])
			}
			ids[found[1]] = true
		}
		for _, found := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if !ids[found[1]] {
				t.Errorf("%s: labelled by %q, which is not there", path, found[1])
			}
		}
	}
}

func TestHosts(t *testing.T) {
	w := newWorld(time.Now())
	p := newPage(t, w.config(time.Now))
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:9094": 200, "[::1]:9094": 200, "[::1]": 200, "10.0.0.3:80": 200, "localhost:9094": 200, "LOCALHOST": 200,
		"gateway": 200, "gateway:9094": 200, "gateway.example": 200, "Gateway.Example.:9094": 200, "gw.monitoring.svc": 200,
		"gw.monitoring.svc.cluster.local:9094": 200, "printer.local": 200, "a.test": 200, "x.internal": 200, "": 200,
		"evil.example": 421, "evil.example:9094": 421, "127.0.0.1.evil.example": 421, "gateway.example.evil.com": 421, "localhost.evil.com": 421, "evil.svc.com": 421,
	} {
		wantStatus(t, p, want, "/topics", func(r *http.Request) { r.Host = host })
	}
}

// Whatever stands behind the question mark, there is a page.
func TestQueries(t *testing.T) {
	w := newWorld(time.Now())
	for _, name := range numbered("many", 250) {
		w.topic(name, 0, 1)
	}
	p := newPage(t, w.config(time.Now))
	rows := regexp.MustCompile(`(?s)<tr data-key="([^"]*)"`)
	for query, want := range map[string]struct {
		n     int
		first string
		says  string
	}{
		"":                                  {100, "__iggy_kafka_state", "1–100 of 254"},
		"page=2":                            {100, "many-00099", "101–200 of 254"},
		"page=3":                            {54, "many-00199", "201–254 of 254"},
		"page=99":                           {54, "many-00199", "201–254 of 254"},
		"page=-1":                           {100, "__iggy_kafka_state", "1–100 of 254"},
		"page=x&rows=x&sort=x&order=x":      {100, "__iggy_kafka_state", "1–100 of 254"},
		"rows=10&page=2":                    {10, "many-00009", "11–20 of 254"},
		"rows=100000":                       {254, "__iggy_kafka_state", "1–254 of 254"},
		"q=many-0002":                       {10, "many-00020", "1–10 of 10 found among 254"},
		"q=++ORDERS+":                       {1, "orders", "1–1 of 1 found among 254"},
		"q=nobody":                          {0, "", "None found among 254"},
		"sort=name&order=down":              {100, "payments.v2", "1–100 of 254"},
		"sort=messages&order=down":          {100, "orders", "1–100 of 254"},
		"sort=messages":                     {100, "nothing-yet", "1–100 of 254"},
		"sort=size&order=down&rows=2":       {2, "orders", "1–2 of 254"},
		"sort=partitions&order=down":        {100, "orders", "1–100 of 254"},
		"%zz&q=" + strings.Repeat("é", 500): {0, "", "None found among 254"},
	} {
		body := page(t, p, "/topics?"+query)
		got := rows.FindAllStringSubmatch(body, -1)
		first := ""
		if len(got) > 0 {
			first = got[0][1]
		}
		if len(got) != want.n || first != want.first || !strings.Contains(body, "<p>"+want.says+"</p>") {
			t.Errorf("%q: %d rows from %q on, want %d from %q on, and %q", query, len(got), first, want.n, want.first, want.says)
		}
	}
}

// Links lead where they say, and every page that is linked to is there.
func TestLinks(t *testing.T) {
	w := newWorld(time.Now())
	p := newPage(t, w.config(time.Now))
	href := regexp.MustCompile(`(?:href|src|action)="([^"#]+)"`)
	seen, todo := map[string]bool{}, []string{"/"}
	for len(todo) > 0 && len(seen) < 500 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		for _, found := range href.FindAllStringSubmatch(page(t, p, path), -1) {
			todo = append(todo, unescaped(found[1]))
		}
	}
	for _, path := range append(paths(), "/topic?name=payments.v2", "/group?id=", "/groups?state=Empty") {
		if !seen[path] {
			t.Errorf("nothing leads to %s", path)
		}
	}
}

// A snapshot that cannot be had in time is no page.
func TestNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(time.Now()).config(time.Now)
		c.Snapshot = func(ctx context.Context) (*overview.Snapshot, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		wantStatus(t, newPage(t, c), http.StatusServiceUnavailable, "/")
	})
}
