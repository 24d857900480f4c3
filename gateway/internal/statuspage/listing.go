// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
)

const (
	rowsPerPage = 100
	// maxRows is the most that can be asked for by ?rows=.
	maxRows = 1000
	// maxSearch is how many bytes of a search count.
	maxSearch = 200
)

// listing says how a long table is shown: which rows, in which order, and which of their pages.
type listing struct {
	path string
	kept url.Values // what links keep: search, order and what else chooses rows

	Search      string
	Sort        string
	Descending  bool
	Page, Pages int // from 1 on
	From, To    int // rows of this page, from 1 on; 0: none
	Found, All  int // rows that match, and all
}

// column is how a table can be sorted.
type column[T any] struct {
	name    string
	compare func(a, b *T) int
}

// by is a column that is sorted by what a function says of each row.
func by[T any, K cmp.Ordered](name string, key func(*T) K) column[T] {
	return column[T]{name, func(a, b *T) int { return cmp.Compare(key(a), key(b)) }}
}

// list chooses and sorts rows as the request says, and returns those of its page. all is in the order of the first column, which
// also decides among equals; it is not changed. Whatever a request asks for that makes no sense counts as not asked for.
func list[T any](q *request, all []T, matches func(row *T, search string) bool, columns []column[T]) ([]T, *listing) {
	asked := q.URL.Query()
	l := &listing{path: q.URL.Path, kept: url.Values{}, All: len(all), Sort: columns[0].name}
	l.Search = excerpt.Cut(strings.TrimSpace(asked.Get("q")), maxSearch)
	rows := all
	if l.Search != "" {
		l.kept.Set("q", l.Search)
		rows = nil
		search := strings.ToLower(l.Search)
		for i := range all {
			if matches(&all[i], search) {
				rows = append(rows, all[i])
			}
		}
	}
	l.Found = len(rows)
	for i, c := range columns {
		if c.name != asked.Get("sort") {
			continue
		}
		l.Sort, l.Descending = c.name, asked.Get("order") == "down"
		if i == 0 && !l.Descending {
			break // as it is
		}
		compare := c.compare
		if l.Descending {
			compare = func(a, b *T) int { return c.compare(b, a) }
		}
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b T) int { return compare(&a, &b) })
	}
	perPage := rowsPerPage
	if n, err := strconv.Atoi(asked.Get("rows")); err == nil && n > 0 {
		perPage = min(n, maxRows)
		l.kept.Set("rows", strconv.Itoa(perPage))
	}
	l.Pages = max((len(rows)+perPage-1)/perPage, 1)
	l.Page = 1
	if n, err := strconv.Atoi(asked.Get("page")); err == nil {
		l.Page = min(max(n, 1), l.Pages)
	}
	from := (l.Page - 1) * perPage
	rows = rows[from:min(from+perPage, len(rows))]
	if len(rows) > 0 {
		l.From, l.To = from+1, from+len(rows)
	}
	return rows, l
}

// keep has links keep what else the request chose by.
func (l *listing) keep(name, value string) {
	if value != "" {
		l.kept.Set(name, value)
	}
}

// link is the address of the same table, with changes: pairs of name and value, an empty one to leave it out.
func (l *listing) link(pairs ...string) string {
	query := url.Values{}
	for name, values := range l.kept {
		query[name] = values
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		} else {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return l.path
	}
	return l.path + "?" + query.Encode()
}

// order are the pairs that keep the rows in order.
func (l *listing) order() []string {
	if l.Descending {
		return []string{"sort", l.Sort, "order", "down"}
	}
	return []string{"sort", l.Sort}
}

// heading is a column's, by which the table can be sorted.
type heading struct {
	Label, Link, Sorted string // Sorted is what aria-sort says
	Numeric             bool
}

// Column is the heading of a column of words; Figures of one of figures, and Times of one of times, which are sorted with the
// largest first.
func (l *listing) Column(name, label string) heading  { return l.heading(name, label, false, false) }
func (l *listing) Figures(name, label string) heading { return l.heading(name, label, true, true) }
func (l *listing) Times(name, label string) heading   { return l.heading(name, label, false, true) }

func (l *listing) heading(name, label string, numeric, down bool) heading {
	h := heading{Label: label, Numeric: numeric, Sorted: "none"}
	if l.Sort == name {
		h.Sorted, down = "ascending", true
		if l.Descending {
			h.Sorted, down = "descending", false
		}
	}
	if down {
		h.Link = l.link("sort", name, "order", "down")
	} else {
		h.Link = l.link("sort", name)
	}
	return h
}

// Previous and Next are the addresses of the pages before and after, empty where there is none.
func (l *listing) Previous() string { return l.pageLink(l.Page - 1) }
func (l *listing) Next() string     { return l.pageLink(l.Page + 1) }

func (l *listing) pageLink(page int) string {
	if page < 1 || page > l.Pages {
		return ""
	}
	return l.link(append(l.order(), "page", strconv.Itoa(page))...)
}

// Everything is the address of the table without a search.
func (l *listing) Everything() string { return l.link("q", "") }

// Path is where a search is sent.
func (l *listing) Path() string { return l.path }

// searchForm is what a table is searched by.
type searchForm struct {
	List  *listing
	Label string
}

// Form is a search form with that label.
func (l *listing) Form(label string) searchForm { return searchForm{l, label} }

// Kept are the fields that a search form sends along.
func (l *listing) Kept() map[string]string {
	kept := map[string]string{"sort": l.Sort}
	if l.Descending {
		kept["order"] = "down"
	}
	for name := range l.kept {
		if name != "q" {
			kept[name] = l.kept.Get(name)
		}
	}
	return kept
}
