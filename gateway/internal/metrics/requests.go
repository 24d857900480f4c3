// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/outcomes"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// unanswered is the slot of requests that got no answer, behind those of error codes.
const unanswered = outcomes.Codes + 1

// endings counts the requests of one API and version by how they ended.
type endings [unanswered + 1]atomic.Uint64

// apiCounts are those of one API.
type apiCounts struct {
	api wire.API
	// endings are those of each version from the lowest served on, and at last those above the highest (KIP-511).
	endings  []endings
	in, out  atomic.Uint64 // bytes
	duration histogram
	stages   [stageCount]histogram
}

// The stages, as the label says them.
const (
	queue = iota
	decode
	parked
	iggy
	encode
	write
	stageCount
)

func stageName(stage int) string {
	return [stageCount]string{queue: "queue", decode: "decode", parked: "parked", iggy: "iggy", encode: "encode", write: "write"}[stage]
}

// requests counts requests; it is a server.Observer.
type requests struct {
	scale *scale
	byKey []*apiCounts // by API key; nil: not served
}

func newRequests(table *wire.Table) *requests {
	r := &requests{scale: newScale()}
	for _, api := range table.APIs() {
		for int(api.Key) >= len(r.byKey) {
			r.byKey = append(r.byKey, nil)
		}
		if api.Served {
			r.byKey[api.Key] = &apiCounts{api: api, endings: make([]endings, int(api.Max-api.Min)+2)}
		}
	}
	return r
}

// place finds what counts a request; nil: the table does not serve it.
func (r *requests) place(ex *server.Exchange) (c *apiCounts, version int) {
	if ex.Key < 0 || int(ex.Key) >= len(r.byKey) || r.byKey[ex.Key] == nil {
		return nil, 0
	}
	c = r.byKey[ex.Key]
	above := len(c.endings) - 1
	if ex.AboveMax {
		return c, above
	}
	if version = int(ex.Version) - int(c.api.Min); version < 0 || version >= above {
		return nil, 0
	}
	return c, version
}

// Finished counts a request. The server lets none through that the table does not serve; one would go uncounted.
func (r *requests) Finished(ex server.Exchange) {
	c, version := r.place(&ex)
	if c == nil {
		return
	}
	ending := outcomes.Slot(ex.Code)
	if !ex.Answered && ex.Code == 0 {
		ending = unanswered
	}
	c.endings[version][ending].Add(1)
	c.in.Add(uint64(ex.In))
	c.out.Add(uint64(ex.Out))
	if !ex.Answered {
		return
	}
	s := &ex.Stages
	c.duration.observe(r.scale, s.Total())
	c.stages[queue].observe(r.scale, s.Queue)
	c.stages[decode].observe(r.scale, s.Decode)
	if s.Parked > 0 { // few APIs wait for others
		c.stages[parked].observe(r.scale, s.Parked)
	}
	c.stages[iggy].observe(r.scale, s.Iggy)
	c.stages[encode].observe(r.scale, s.Encode)
	c.stages[write].observe(r.scale, s.Write)
}

// collect tells of the APIs that were used.
func (r *requests) collect(e emitter, f *families) {
	for _, c := range r.byKey {
		if c == nil || !c.collectEndings(e, f) {
			continue
		}
		e.put(f.requestBytes, float64(c.in.Load()), c.api.Name)
		e.put(f.responseBytes, float64(c.out.Load()), c.api.Name)
		e.histogram(f.duration, &c.duration, c.api.Name)
		for i := range c.stages {
			e.histogram(f.stages, &c.stages[i], c.api.Name, stageName(i))
		}
	}
}

func (c *apiCounts) collectEndings(e emitter, f *families) (used bool) {
	for v := range c.endings {
		version := "other"
		if v < len(c.endings)-1 {
			version = strconv.Itoa(int(c.api.Min) + v)
		}
		for slot := range c.endings[v] {
			n := c.endings[v][slot].Load()
			if n == 0 {
				continue
			}
			used = true
			e.put(f.requests, float64(n), c.api.Name, version, endingName(slot))
		}
	}
	return used
}

func endingName(slot int) string {
	if slot == unanswered {
		return "connection_closed"
	}
	return outcomes.Name(slot)
}

// histogram tells of a histogram that has something to tell.
func (e emitter) histogram(f *family, h *histogram, labels ...string) {
	count, sum, within := h.read()
	if count == 0 {
		return
	}
	m, err := prometheus.NewConstHistogram(f.desc, count, sum, within, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(f.desc, err)
	}
	e <- m
}
