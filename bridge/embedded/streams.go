// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

func (s *session) getStreams(dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, st := range c.streams.all {
		dst = st.describe(false).Stream.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) getStream(req iggywire.GetStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if st := c.stream(req.Stream); st != nil {
		dst = st.describe(true).AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) createStream(req iggywire.CreateStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.Lock()
	if c.streamNames[req.Name] != nil {
		c.mu.Unlock()
		return dst, iggywire.StatusStreamExists
	}
	st := &stream{name: req.Name, createdAt: s.server.now(), topicNames: make(map[string]*topic)}
	st.id = c.streams.add(st)
	c.streamNames[st.name] = st
	dst = st.describe(true).AppendTo(dst)
	wait := s.server.commit([]record{streamRecord(st)}, nil)
	c.mu.Unlock()
	return dst, wait()
}

func (s *session) updateStream(req iggywire.UpdateStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.Lock()
	st := c.stream(req.Stream)
	switch other := c.streamNames[req.Name]; {
	case st == nil:
		c.mu.Unlock()
		return dst, iggywire.StatusStreamNotFound
	case other != nil && other != st:
		c.mu.Unlock()
		return dst, iggywire.StatusStreamExists
	}
	delete(c.streamNames, st.name)
	st.name = req.Name
	c.streamNames[st.name] = st
	wait := s.server.commit([]record{streamRecord(st)}, nil)
	c.mu.Unlock()
	return dst, wait()
}

func (s *session) deleteStream(req iggywire.DeleteStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.Lock()
	st := c.stream(req.Stream)
	if st == nil {
		c.mu.Unlock()
		return dst, iggywire.StatusStreamNotFound
	}
	records := []record{{key: streamKey(st)}}
	var dropped []logRange
	for _, t := range st.topics.all {
		offsets, logs := t.drop(0)
		records = append(append(records, offsets...), record{key: topicKey(t)})
		dropped = append(dropped, logs)
	}
	c.streams.remove(st.id)
	delete(c.streamNames, st.name)
	wait := s.server.commit(records, dropped)
	c.mu.Unlock()
	return dst, wait()
}

func (s *session) purgeStream(req iggywire.PurgeStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.Lock()
	st := c.stream(req.Stream)
	if st == nil {
		c.mu.Unlock()
		return dst, iggywire.StatusStreamNotFound
	}
	var records []record
	var dropped []logRange
	for _, t := range st.topics.all {
		r, d, status := s.server.purge(t)
		if status != iggywire.StatusOK {
			c.mu.Unlock()
			return dst, status
		}
		records, dropped = append(records, r...), append(dropped, d)
	}
	wait := s.server.commit(records, dropped)
	c.mu.Unlock()
	return dst, wait()
}
