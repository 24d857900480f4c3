// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// serverVersion is the version of the protocol's server that clients are told.
const serverVersion = "0.8.0"

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
		RunTime:       uint64(time.Since(server.started).Microseconds()),
		StartTime:     uint64(server.started.UnixMicro()),
		Hostname:      hostname,
		OSName:        runtime.GOOS,
		OSVersion:     "unknown",
		Kernel:        "unknown",
		ServerVersion: serverVersion,
		ServerSemver:  8000,
		Threads:       uint32(runtime.GOMAXPROCS(0)),
		Clients:       uint32(len(server.clients())),
	}
	c := &server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, st := range c.streams.all {
		described := st.describe(true)
		stats.Streams++
		stats.Topics += described.Topics
		stats.MessagesSize += described.Size
		stats.Messages += described.Messages
		for _, t := range described.TopicList {
			stats.Partitions += t.Partitions
			stats.Segments += t.Partitions
		}
	}
	return stats.AppendTo(dst), iggywire.StatusOK
}

func (s *session) getMe(dst []byte) ([]byte, iggywire.Status) {
	return iggywire.ClientDetails{Client: s.describe()}.AppendTo(dst), iggywire.StatusOK
}

func (s *session) getClients(dst []byte) ([]byte, iggywire.Status) {
	for _, c := range s.server.clients() {
		dst = c.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) getClient(req iggywire.GetClient, dst []byte) ([]byte, iggywire.Status) {
	for _, c := range s.server.clients() {
		if c.ID == req.ID {
			dst = iggywire.ClientDetails{Client: c}.AppendTo(dst)
		}
	}
	return dst, iggywire.StatusOK
}

// clients describes the open connections by ascending id.
func (s *Server) clients() []iggywire.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]iggywire.Client, 0, len(s.sessions))
	for _, session := range s.sessions {
		list = append(list, session.describe())
	}
	slices.SortFunc(list, func(a, b iggywire.Client) int { return int(a.ID) - int(b.ID) })
	return list
}

func (s *session) describe() iggywire.Client {
	c := iggywire.Client{
		ID: s.id, UserID: iggywire.NoUser,
		Transport: iggywire.TransportTCP, Address: s.conn.RemoteAddr().String(),
	}
	if u := s.user.Load(); u != nil {
		c.UserID = u.id
	}
	return c
}
