// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"net/http"
)

// Starting are the parts of a gateway that is on its way up: alive, not ready, and without anything to show. A start takes as long as
// Iggy does, and must not look like a process that hangs. doing says what it is at, in words that anybody may read; stopping is
// that of NewReadiness.
func Starting(doing func() string, stopping <-chan struct{}) Parts {
	p := Parts{Starting: true, Readiness: NewReadiness([]Check{{Name: "starting", Ready: func(context.Context) error { return errors.New(doing()) }}}, stopping)}
	later := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		p.ready(w, r)
	})
	p.Page, p.Metrics = later, later
	return p
}
