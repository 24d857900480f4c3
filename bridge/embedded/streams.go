// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

func (s *session) getStreams(dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !s.me().everywhere().readStreams() {
		return dst, iggywire.StatusUnauthorized
	}
	for _, st := range c.streams.all {
		dst = st.describe(false).Stream.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) getStream(req iggywire.GetStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	st := c.stream(req.Stream)
	switch {
	case st == nil:
		return dst, iggywire.StatusOK
	case !s.me().in(st).readStream():
		return dst, iggywire.StatusUnauthorized
	}
	return st.describe(true).AppendTo(dst), iggywire.StatusOK
}

func (s *session) createStream(req iggywire.CreateStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	status := s.server.change(func() (edit, iggywire.Status) {
		switch {
		case !s.me().everywhere().manageStreams():
			return edit{}, iggywire.StatusUnauthorized
		case c.streamNames[req.Name] != nil:
			return edit{}, iggywire.StatusStreamExists
		}
		st := &stream{
			id: c.streams.next(), name: req.Name, createdAt: s.server.now(),
			topicNames: make(map[string]*topic),
		}
		c.streams.add(st)
		c.streamNames[st.name] = st
		dst = st.describe(true).AppendTo(dst)
		return edit{records: []record{streamRecord(st)}}, iggywire.StatusOK
	})
	return dst, status
}

// changeStream carries out a change of a stream by somebody who manages it.
func (s *session) changeStream(id iggywire.Identifier, do func(*stream) (edit, iggywire.Status)) iggywire.Status {
	return s.server.change(func() (edit, iggywire.Status) {
		st := s.server.catalog.stream(id)
		switch {
		case st == nil:
			return edit{}, iggywire.StatusStreamNotFound
		case !s.me().in(st).manageStream():
			return edit{}, iggywire.StatusUnauthorized
		}
		return do(st)
	})
}

func (s *session) updateStream(req iggywire.UpdateStream, dst []byte) ([]byte, iggywire.Status) {
	names := s.server.catalog.streamNames
	return dst, s.changeStream(req.Stream, func(st *stream) (edit, iggywire.Status) {
		if other := names[req.Name]; other != nil && other != st {
			return edit{}, iggywire.StatusStreamExists
		}
		delete(names, st.name)
		st.name = req.Name
		names[st.name] = st
		return edit{records: []record{streamRecord(st)}}, iggywire.StatusOK
	})
}

func (s *session) deleteStream(req iggywire.DeleteStream, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	return dst, s.changeStream(req.Stream, func(st *stream) (edit, iggywire.Status) {
		e := edit{records: []record{{key: streamKey(st)}}}
		for _, t := range st.topics.all {
			t.remove(&e)
		}
		c.streams.remove(st.id)
		delete(c.streamNames, st.name)
		return e, iggywire.StatusOK
	})
}

func (s *session) purgeStream(req iggywire.PurgeStream, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeStream(req.Stream, func(st *stream) (edit, iggywire.Status) {
		var e edit
		for _, t := range st.topics.all {
			s.server.purge(t, &e)
		}
		return e, iggywire.StatusOK
	})
}
