// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"crypto/tls"
	"slices"
	"time"
)

// ConnectionInfo is a connection as its operator sees it, at one moment.
type ConnectionInfo struct {
	ID     uint64
	Remote string // the client's address
	TLS    bool
	User   string // who has authenticated; empty before, and where clients do not
	Since  time.Time

	ClientID string // of the last request; empty: it named none
	// SoftwareName and SoftwareVersion are what the client calls itself (KIP-511); empty: it does not say.
	SoftwareName, SoftwareVersion string

	Requests uint64 // begun so far
	// Last is the last request, LastError the last that was answered with an error code.
	Last, LastError Event
}

// Event is something that happened to a request of an API. Code is the first error code in its answer, if the event is that it
// was answered with one. A zero At is no event.
type Event struct {
	Key, Code int16
	At        time.Time
}

// Connections lists those that are open, in the order in which they came.
func (s *Server) Connections() []ConnectionInfo {
	s.mu.Lock()
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	slices.SortFunc(conns, func(a, b *Conn) int { return cmp.Compare(a.id, b.id) })
	infos := make([]ConnectionInfo, len(conns))
	for i, c := range conns {
		infos[i] = c.info()
	}
	return infos
}

func (c *Conn) info() ConnectionInfo {
	info := ConnectionInfo{ID: c.id, Remote: c.RemoteAddr().String(), Since: c.opened, Requests: c.requests.Load()}
	_, info.TLS = c.nc.(*tls.Conn)
	if p := c.Principal(); p != nil {
		info.User = p.Name()
	}
	info.SoftwareName, info.SoftwareVersion = c.ClientSoftware()
	if id := c.activity.clientID.Load(); id != nil {
		info.ClientID = *id
	}
	if at := c.activity.at.Load(); at != 0 {
		info.Last = Event{Key: int16(c.activity.key.Load()), At: c.opened.Add(time.Duration(at))}
	}
	if f := c.activity.failure.Load(); f != nil {
		info.LastError = Event{Key: f.key, Code: f.code, At: c.opened.Add(f.at)}
	}
	return info
}
