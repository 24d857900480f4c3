// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"fmt"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// largeWorld has 1,000 topics of four partitions and 500 groups of three members who read ten topics, and 1,000 connections.
func largeWorld() *world {
	w := newWorld(time.Now())
	topics := numbered("a-topic-of-some-length", 1000)
	for _, name := range topics {
		w.topic(name, 0, 1_000_000, 10, 2_000_000, 0, 3_000_000, 0, 4_000_000)
	}
	for i, id := range numbered("a-group-of-some-length", 500) {
		g := madeUp{id: id, d: coordinator.Description{State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range"}}
		mine := map[string][]int32{}
		for j := range 10 {
			name := topics[(7*i+j)%len(topics)]
			mine[name] = []int32{0, 1, 2, 3}
			for partition := range int32(4) {
				g.offsets = append(g.offsets, offset(name, partition, int64(1000*i)))
			}
		}
		for m := range 3 {
			name := fmt.Sprintf("%s-%d", id, m)
			g.d.Members = append(g.d.Members, coordinator.MemberDescription{MemberID: name, ClientID: name, ClientHost: "/10.0.0.1", Assignment: assignment(mine)})
		}
		w.groups = append(w.groups, g)
	}
	for i := range 1000 {
		w.conns = append(w.conns, server.ConnectionInfo{
			ID: uint64(10 + i), Remote: fmt.Sprintf("10.0.0.1:%d", 10000+i), Since: time.Now(), ClientID: fmt.Sprint("client-", i),
			SoftwareName: "apache-kafka-java", SoftwareVersion: "4.1.1", Requests: uint64(i), Last: server.Event{Key: 1, At: time.Now()},
		})
	}
	return w
}

// BenchmarkPages has each page rendered from a snapshot that is there, with as many rows as it can have.
func BenchmarkPages(b *testing.B) {
	w := largeWorld()
	p := newPage(b, w.config(time.Now))
	for _, path := range []string{
		"/", "/topics", "/topics?rows=1000", "/topics?rows=1000&sort=rate&order=down&q=topic", "/topic?name=a-topic-of-some-length-00500",
		"/groups", "/groups?rows=1000&sort=lag&order=down", "/group?id=a-group-of-some-length-00250", "/clients?rows=1000", "/protocol", "/settings",
	} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				got := get(p, path)
				if got.Code != 200 {
					b.Fatal(got.Code)
				}
				size = got.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes/page")
		})
	}
}
