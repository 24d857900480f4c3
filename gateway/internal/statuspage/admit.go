// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"net/http"
	"net/netip"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
)

// admit finds out who asks, and what he may see.
func (p *Page) admit(w http.ResponseWriter, q *request) error {
	if p.cfg.Login == nil {
		q.access = permissions.Everything()
		if !admin.KnownHost(q.Host, p.cfg.Hosts) {
			return errForeignHost
		}
		return nil
	}
	// A browser sends a password to no other name than the one it was typed in for, so the name is of no matter here.
	user, password, ok := q.BasicAuth()
	q.Header.Del("Authorization")
	if !ok {
		return challenge(w, errRefused)
	}
	var from netip.Addr
	if at, err := netip.ParseAddrPort(q.RemoteAddr); err == nil {
		from = at.Addr()
	}
	u, access, err := p.cfg.Login.in(q.Context(), from, user, password)
	if err != nil {
		return challenge(w, err)
	}
	q.user, q.access = u.Name(), access
	return nil
}

// challenge has the browser ask its user for a password, where that is what was missing.
func challenge(w http.ResponseWriter, err error) error {
	if err == errRefused {
		w.Header().Set("WWW-Authenticate", `Basic realm="iggy-kafka", charset="UTF-8"`)
	}
	return err
}
