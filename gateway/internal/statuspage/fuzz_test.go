// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzRequests asks for every page with whatever stands behind the question mark: there is a page, or there is none of that
// name.
func FuzzRequests(f *testing.F) {
	p := newPage(f, newWorld(time.Now()).config(time.Now))
	for _, seed := range []string{"q=a&sort=lag&order=down&page=2&rows=7", "name=orders&sort=rate", "id=billing&q=%00", "state=Empty&changed=only", "rows=99999999999999999999", "%", ""} {
		f.Add(uint8(2), seed)
	}
	f.Fuzz(func(t *testing.T, which uint8, query string) {
		path, _, _ := strings.Cut(paths()[int(which)%len(paths())], "?")
		w := get(p, path, func(r *http.Request) { r.URL.RawQuery = query })
		if w.Code != http.StatusOK && w.Code != http.StatusNotFound {
			t.Fatalf("%s?%q: %d", path, query, w.Code)
		}
	})
}
