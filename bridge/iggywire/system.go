// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"math"
)

// Roles and states of a [ClusterNode].
const (
	NodeLeader   = 0
	NodeFollower = 1
	NodeHealthy  = 0
)

// ClusterMetadata is the answer to [CodeGetClusterMetadata]. Clients follow the
// leader by the address in it. A server that is no cluster names itself.
//
//	name string32 | count u32 | nodes
type ClusterMetadata struct {
	Name  string
	Nodes []ClusterNode
}

// ClusterNode is one server of a cluster.
//
//	name string32 | ip string32 | ports: tcp u16, quic u16, http u16, websocket u16 | role u8 | status u8
type ClusterNode struct {
	Name, IP                   string
	TCP, QUIC, HTTP, WebSocket uint16 // ports
	Role, Status               uint8
}

// AppendTo appends the answer.
func (c ClusterMetadata) AppendTo(dst []byte) []byte {
	dst = appendString32(dst, c.Name)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.Nodes)))
	for _, n := range c.Nodes {
		dst = appendString32(dst, n.Name)
		dst = appendString32(dst, n.IP)
		dst = binary.LittleEndian.AppendUint16(dst, n.TCP)
		dst = binary.LittleEndian.AppendUint16(dst, n.QUIC)
		dst = binary.LittleEndian.AppendUint16(dst, n.HTTP)
		dst = binary.LittleEndian.AppendUint16(dst, n.WebSocket)
		dst = append(dst, n.Role, n.Status)
	}
	return dst
}

// ParseClusterMetadata reads the answer to [CodeGetClusterMetadata].
func ParseClusterMetadata(b []byte) (ClusterMetadata, error) {
	r := reader{b: b}
	c := ClusterMetadata{Name: r.string32()}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		c.Nodes = append(c.Nodes, ClusterNode{
			Name: r.string32(), IP: r.string32(),
			TCP: r.u16(), QUIC: r.u16(), HTTP: r.u16(), WebSocket: r.u16(),
			Role: r.u8(), Status: r.u8(),
		})
	}
	if err := r.done("cluster metadata"); err != nil {
		return ClusterMetadata{}, err
	}
	return c, nil
}

// Stats is the answer to [CodeGetStats]: sizes in bytes, times in µs.
type Stats struct {
	ProcessID                 uint32
	CPUUsage, TotalCPUUsage   float32 // percent
	MemoryUsage, TotalMemory  uint64
	AvailableMemory           uint64
	RunTime, StartTime        uint64
	ReadBytes, WrittenBytes   uint64
	MessagesSize              uint64
	Streams, Topics           uint32
	Partitions, Segments      uint32
	Messages                  uint64
	Clients, Groups           uint32
	Hostname                  string
	OSName, OSVersion, Kernel string
	ServerVersion             string
	ServerSemver              uint32 // major * 1,000,000 + minor * 1,000 + patch
	Cache                     []CacheMetrics
	Threads                   uint32
	FreeDisk, TotalDisk       uint64
}

// CacheMetrics counts how often a partition's polls were served from memory.
type CacheMetrics struct {
	Stream, Topic, Partition uint32
	Hits, Misses             uint64
	HitRatio                 float32
}

// AppendTo appends the answer.
func (s Stats) AppendTo(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, s.ProcessID)
	dst = le.AppendUint32(dst, math.Float32bits(s.CPUUsage))
	dst = le.AppendUint32(dst, math.Float32bits(s.TotalCPUUsage))
	for _, v := range [...]uint64{
		s.MemoryUsage, s.TotalMemory, s.AvailableMemory, s.RunTime, s.StartTime,
		s.ReadBytes, s.WrittenBytes, s.MessagesSize,
	} {
		dst = le.AppendUint64(dst, v)
	}
	for _, v := range [...]uint32{s.Streams, s.Topics, s.Partitions, s.Segments} {
		dst = le.AppendUint32(dst, v)
	}
	dst = le.AppendUint64(dst, s.Messages)
	dst = le.AppendUint32(dst, s.Clients)
	dst = le.AppendUint32(dst, s.Groups)
	for _, v := range [...]string{s.Hostname, s.OSName, s.OSVersion, s.Kernel, s.ServerVersion} {
		dst = appendString32(dst, v)
	}
	dst = le.AppendUint32(dst, s.ServerSemver)
	dst = le.AppendUint32(dst, uint32(len(s.Cache)))
	for _, c := range s.Cache {
		dst = le.AppendUint32(dst, c.Stream)
		dst = le.AppendUint32(dst, c.Topic)
		dst = le.AppendUint32(dst, c.Partition)
		dst = le.AppendUint64(dst, c.Hits)
		dst = le.AppendUint64(dst, c.Misses)
		dst = le.AppendUint32(dst, math.Float32bits(c.HitRatio))
	}
	dst = le.AppendUint32(dst, s.Threads)
	dst = le.AppendUint64(dst, s.FreeDisk)
	return le.AppendUint64(dst, s.TotalDisk)
}

// ParseStats reads the answer to [CodeGetStats].
func ParseStats(b []byte) (Stats, error) {
	r := reader{b: b}
	s := Stats{
		ProcessID: r.u32(),
		CPUUsage:  r.f32(), TotalCPUUsage: r.f32(),
		MemoryUsage: r.u64(), TotalMemory: r.u64(),
		AvailableMemory: r.u64(),
		RunTime:         r.u64(), StartTime: r.u64(),
		ReadBytes: r.u64(), WrittenBytes: r.u64(),
		MessagesSize: r.u64(),
		Streams:      r.u32(), Topics: r.u32(),
		Partitions: r.u32(), Segments: r.u32(),
		Messages: r.u64(),
		Clients:  r.u32(), Groups: r.u32(),
		Hostname: r.string32(),
		OSName:   r.string32(), OSVersion: r.string32(), Kernel: r.string32(),
		ServerVersion: r.string32(),
		ServerSemver:  r.u32(),
	}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		s.Cache = append(s.Cache, CacheMetrics{
			Stream: r.u32(), Topic: r.u32(), Partition: r.u32(),
			Hits: r.u64(), Misses: r.u64(), HitRatio: r.f32(),
		})
	}
	s.Threads, s.FreeDisk, s.TotalDisk = r.u32(), r.u64(), r.u64()
	if err := r.done("stats"); err != nil {
		return Stats{}, err
	}
	return s, nil
}
