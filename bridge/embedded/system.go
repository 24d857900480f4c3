// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// What clients are told of the server's version: that of the protocol.
const (
	serverVersion = "0.8.0"
	serverSemver  = 8000
)

func (s *session) getClusterMetadata(dst []byte) ([]byte, iggywire.Status) {
	node := iggywire.ClusterNode{
		Name: "iggy-node", IP: "127.0.0.1",
		Role: iggywire.NodeLeader, Status: iggywire.NodeHealthy,
	}
	// The address that the client reached is one that it can reach again.
	if addr, ok := s.conn.LocalAddr().(*net.TCPAddr); ok {
		node.IP, node.TCP = addr.IP.String(), uint16(addr.Port)
	}
	return iggywire.ClusterMetadata{Name: "single-node", Nodes: []iggywire.ClusterNode{node}}.AppendTo(dst), iggywire.StatusOK
}

func (s *session) getStats(dst []byte) ([]byte, iggywire.Status) {
	server := s.server
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "unknown"
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	stats := iggywire.Stats{
		ProcessID:     uint32(os.Getpid()),
		MemoryUsage:   memory.Sys,
		TotalMemory:   memory.Sys,
		RunTime:       uint64(server.cfg.Now().Sub(server.started).Microseconds()),
		StartTime:     uint64(server.started.UnixMicro()),
		Hostname:      hostname,
		OSName:        runtime.GOOS,
		OSVersion:     "unknown",
		Kernel:        "unknown",
		ServerVersion: serverVersion,
		ServerSemver:  serverSemver,
		Threads:       uint32(runtime.GOMAXPROCS(0)),
		Clients:       uint32(len(server.open())),
	}
	c := &server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !s.me().everywhere().readServers() {
		return dst, iggywire.StatusUnauthorized
	}
	for _, st := range c.streams.all {
		described := st.describe(true)
		stats.Streams++
		stats.Topics += described.Topics
		stats.MessagesSize += described.Size
		stats.Messages += described.Messages
		for _, t := range st.topics.all {
			stats.Partitions += uint32(len(t.partitions))
			for _, p := range t.partitions {
				stats.Segments += p.describe().Segments
			}
			stats.Groups += uint32(t.groups.count)
		}
	}
	return stats.AppendTo(dst), iggywire.StatusOK
}

func (s *session) getMe(dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	return s.describe().AppendTo(dst), iggywire.StatusOK
}

func (s *session) getClients(dst []byte) ([]byte, iggywire.Status) {
	open := s.server.open()
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !s.me().everywhere().readServers() {
		return dst, iggywire.StatusUnauthorized
	}
	for _, other := range open {
		dst = other.describe().Client.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) getClient(req iggywire.GetClient, dst []byte) ([]byte, iggywire.Status) {
	open := s.server.open()
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !s.me().everywhere().readServers() {
		return dst, iggywire.StatusUnauthorized
	}
	for _, other := range open {
		if other.id == req.ID {
			dst = other.describe().AppendTo(dst)
		}
	}
	return dst, iggywire.StatusOK
}

// open returns the open sessions by ascending id.
func (s *Server) open() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int { return cmp.Compare(a.id, b.id) })
}

// describe tells what clients see of the session. The catalogue's mutex is held.
func (s *session) describe() iggywire.ClientDetails {
	d := iggywire.ClientDetails{Client: iggywire.Client{
		ID: s.id, UserID: iggywire.NoUser,
		Transport: iggywire.TransportTCP, Address: s.conn.RemoteAddr().String(),
		Groups: uint32(len(s.groups)),
	}}
	if u := s.loggedIn(); u != nil {
		d.UserID = u.id
	}
	for g := range s.groups {
		d.GroupList = append(d.GroupList, iggywire.ClientGroup{Stream: g.topic.stream.id, Topic: g.topic.id, Group: g.id})
	}
	slices.SortFunc(d.GroupList, func(a, b iggywire.ClientGroup) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Group, b.Group))
	})
	return d
}
