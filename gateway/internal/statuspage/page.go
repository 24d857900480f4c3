// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

const (
	// refresh is how often the script asks for a page anew.
	refresh = 5 * time.Second
	// patience is how long a page may take, a login's wait for its turn included.
	patience = 10 * time.Second
	// maxPages is how many pages are made at a time.
	maxPages = 8
	// maxPageSize is how large one may be: clients name groups and members as they like.
	maxPageSize = 8 << 20
)

// Config is what the page shows, and to whom. Login may be nil, every function and slice is required.
type Config struct {
	Gateway Gateway
	// Settings are those in effect, secrets without their values.
	Settings []topicconfig.Setting
	// APIs are those of the table that clients are served by.
	APIs []wire.API

	Snapshot    func(ctx context.Context) (*overview.Snapshot, error)
	Connections func() []server.ConnectionInfo
	// Readiness is what /readyz goes by.
	Readiness func(ctx context.Context) (admin.Report, error)
	Now       func() time.Time

	// Login lets users in; nil: everybody may see everything, and Hosts are the names, beside those that nobody can register,
	// that requests may call the gateway by.
	Login *Login
	Hosts []string
}

// Gateway is what does not change while it runs.
type Gateway struct {
	Version   string // Build says more
	Build     string
	NodeID    int32
	ClusterID string
	Started   time.Time
	// Iggy is where it is, empty where there is none, and Stream the one for topics that no topic map names.
	Iggy, Stream string
	Listeners    []Listener
}

// Listener is where Kafka clients connect to.
type Listener struct {
	Addr, Advertised string
	TLS              bool
}

// body is what is particular to a page: the name of its template, its title, and what the template shows.
type body interface {
	template() string
	title() string
}

// Page is the handler. It answers GET and HEAD, and leaves it to its caller to refuse the rest.
type Page struct {
	cfg    Config
	mux    *http.ServeMux
	assets *assets
	making chan struct{} // a token for each page that is being made
}

// New returns the page.
func New(cfg Config) (*Page, error) {
	assets, err := loadAssets()
	if err != nil {
		return nil, fmt.Errorf("statuspage: what pages are made of: %w", err)
	}
	p := &Page{cfg: cfg, mux: http.NewServeMux(), assets: assets, making: make(chan struct{}, maxPages)}
	p.mux.Handle("/static/", p.assets)
	for path, build := range map[string]func(*request) (body, error){
		"/{$}":      p.overview,
		"/topics":   p.topics,
		"/topic":    p.topic,
		"/groups":   p.groups,
		"/group":    p.group,
		"/clients":  p.clients,
		"/protocol": p.protocol,
		"/settings": p.settings,
		"/":         func(*request) (body, error) { return nil, errNotFound },
	} {
		p.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, build) })
	}
	return p, nil
}

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w.Header())
	p.mux.ServeHTTP(w, r)
}

// guard tells the browser what a page of ours never does, so that it does not let others make it: load or run what is not
// ours, be framed, be read from elsewhere, be kept.
func guard(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

var (
	errNotFound  = errors.New("statuspage: no such page")
	errForbidden = errors.New("statuspage: not for this user to see")
	errBusy      = errors.New("statuspage: too many pages are being made")
	errTooLarge  = errors.New("statuspage: the page is too large")
	// errForeignHost is what a page under another name would be told (DNS rebinding).
	errForeignHost = errors.New("statuspage: asked for by a foreign name")
)

// request is one that is to be answered with a page.
type request struct {
	*http.Request
	now    time.Time
	user   string // empty where nobody has to log in
	access *permissions.Access
	snap   *overview.Snapshot
	report admin.Report
}

// view is what every page is rendered from.
type view struct {
	Gateway  Gateway
	Assets   *assets
	Here     string // the address of the page
	Links    []link
	Title    string
	User     string
	Refresh  int // seconds
	Now      time.Time
	Snapshot time.Time
	Health   []check
	Notices  []notice
	// What else the user may see.
	MayGroups, MayClients bool
	Body                  body
}

// link leads to one of the pages.
type link struct {
	Path, Label string
	Current     bool
}

// links are those to all pages; the one is marked that the reader is on, or below.
func links(on body) []link {
	all := []link{
		{Path: "/", Label: overviewPage{}.title()}, {Path: "/topics", Label: topicsPage{}.title()},
		{Path: "/groups", Label: groupsPage{}.title()}, {Path: "/clients", Label: clientsPage{}.title()},
		{Path: "/protocol", Label: protocolPage{}.title()}, {Path: "/settings", Label: settingsPage{}.title()},
	}
	label := on.title()
	switch on.(type) {
	case topicPage:
		label = topicsPage{}.title()
	case groupPage:
		label = groupsPage{}.title()
	}
	for i := range all {
		all[i].Current = all[i].Label == label
	}
	return all
}

// serve answers with the page that build makes.
func (p *Page) serve(w http.ResponseWriter, r *http.Request, build func(*request) (body, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	q := &request{Request: r.WithContext(ctx), now: p.cfg.Now()}
	status, content, err := http.StatusOK, body(nil), errBusy
	select {
	case p.making <- struct{}{}:
		defer func() { <-p.making }()
		content, err = p.answer(w, q, build)
	default:
	}
	if err != nil {
		f := failure(err)
		status, content = f.Status, f
	}
	out, err := p.render(q, content)
	if err != nil {
		f := failure(err)
		status = f.Status
		if out, err = p.render(q, f); err != nil {
			http.Error(w, "the page cannot be rendered", http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // who has gone needs no answer
}

// render makes a page of what it shows. An error is errTooLarge, or a fault of the template.
func (p *Page) render(q *request, content body) (*bytes.Buffer, error) {
	v := view{
		Gateway: p.cfg.Gateway, Assets: p.assets, Here: q.URL.RequestURI(), Links: links(content), Title: content.title(),
		User: q.user, Refresh: int(refresh.Seconds()), Now: q.now, Body: content,
	}
	if q.access != nil && q.snap != nil {
		v.Snapshot, v.Health, v.Notices = q.snap.Time, health(q.report), notices(q.snap)
		v.MayClients, v.MayGroups = q.access.MayReadServers(), q.access.MayUseGroups()
	}
	out := boundedBuffer{most: maxPageSize}
	if err := p.assets.templates[content.template()].ExecuteTemplate(&out, "layout", v); err != nil {
		return nil, err
	}
	return &out.Buffer, nil
}

// boundedBuffer takes no more bytes than most.
type boundedBuffer struct {
	bytes.Buffer
	most int
}

func (b *boundedBuffer) Write(part []byte) (int, error) {
	if b.Len()+len(part) > b.most {
		return 0, errTooLarge
	}
	return b.Buffer.Write(part)
}

// answer lets the request in, and has its page made.
func (p *Page) answer(w http.ResponseWriter, q *request, build func(*request) (body, error)) (body, error) {
	if err := p.admit(w, q); err != nil {
		return nil, err
	}
	var looks errgroup.Group // both may have to wait for Iggy
	looks.Go(func() (err error) {
		q.snap, err = p.cfg.Snapshot(q.Context())
		return err
	})
	looks.Go(func() (err error) {
		q.report, err = p.cfg.Readiness(q.Context())
		return err
	})
	if err := looks.Wait(); err != nil {
		return nil, err
	}
	return build(q)
}

// failed is the page that says why there is none.
type failed struct {
	Status       int
	Heading, Why string
}

func (failed) template() string { return "failed" }
func (f failed) title() string  { return f.Heading }

func failure(err error) failed {
	f := failed{Status: http.StatusInternalServerError, Heading: "Something went wrong", Why: "The page could not be made."}
	switch {
	case errors.Is(err, errNotFound):
		f = failed{http.StatusNotFound, "Not found", "There is no such page, topic or group, or it is not for you to see."}
	case errors.Is(err, errForbidden):
		f = failed{http.StatusForbidden, "Not for you to see", "Your Iggy user has no permission for this page."}
	case errors.Is(err, errRefused):
		f = failed{http.StatusUnauthorized, "Log in", "Your user name and password of Iggy are needed here; they were missing or are not right."}
	case errors.Is(err, errForeignHost):
		f = failed{http.StatusMisdirectedRequest, "Not known by this name",
			"The gateway does not answer to the name in the address bar. Use its IP address, or a name that its settings have."}
	case errors.Is(err, errBusy):
		f = failed{http.StatusServiceUnavailable, "Too many readers", "Others ask for pages at this moment. Yours comes when one of theirs is done."}
	case errors.Is(err, errTooLarge):
		f = failed{http.StatusInternalServerError, "Too large", "The page would be too large. Ask for fewer rows, or search for what you need."}
	case errors.Is(err, errUnchecked):
		f = failed{http.StatusServiceUnavailable, "Iggy does not answer",
			"Who you are, and what you may see, is Iggy's to say. The page comes back when Iggy does."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f = failed{http.StatusServiceUnavailable, "Too slow", "The page could not be made in time."}
	}
	return f
}

// functions are what templates call.
func functions() template.FuncMap {
	return template.FuncMap{
		"num": anyNumber, "bytes": byteSize, "rate": perSecond, "byterate": bytesPerSecond, "ago": ago, "stamp": stamp, "clock": clock, "day": day,
		"plural": plural, "span": span, "ranges": ranges, "brief": brief, "key": key,
	}
}
