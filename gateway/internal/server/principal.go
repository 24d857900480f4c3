// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import "sync/atomic"

// Principal is who a connection has authenticated as.
type Principal interface {
	Name() string
	Release() // ends this connection's hold on it
}

// principal is a connection's, nil before anybody has authenticated on it.
type principal struct{ current atomic.Pointer[Principal] }

// SetPrincipal notes who has authenticated on the connection. The connection releases it when it has ended, or when another
// takes its place.
func (c *Conn) SetPrincipal(p Principal) {
	if old := c.principal.current.Swap(&p); old != nil && *old != p {
		(*old).Release()
	}
}

// Principal is who has authenticated on the connection; nil before, and where clients do not authenticate.
func (c *Conn) Principal() Principal {
	if p := c.principal.current.Load(); p != nil {
		return *p
	}
	return nil
}

// release is called once no request is being answered any more. It returns who it was, empty for nobody.
func (p *principal) release() (name string) {
	if last := p.current.Swap(nil); last != nil {
		name = (*last).Name()
		(*last).Release()
	}
	return name
}
