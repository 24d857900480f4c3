// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

func (s *session) getTopics(req iggywire.GetTopics, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	st := c.stream(req.Stream)
	switch {
	case st == nil:
		return dst, iggywire.StatusOK
	case !s.me().in(st).readTopics():
		return dst, iggywire.StatusUnauthorized
	}
	for _, t := range st.topics.all {
		dst = t.describe(false).Topic.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) getTopic(req iggywire.GetTopic, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, status := c.topic(req.Stream, req.Topic)
	switch {
	case status != iggywire.StatusOK:
		return dst, iggywire.StatusOK
	case !s.me().at(t).readTopic():
		return dst, iggywire.StatusUnauthorized
	}
	return t.describe(true).AppendTo(dst), iggywire.StatusOK
}

func (s *session) createTopic(req iggywire.CreateTopic, dst []byte) ([]byte, iggywire.Status) {
	if req.Partitions > iggywire.MaxPartitions {
		return dst, iggywire.StatusTooManyPartitions
	}
	c := &s.server.catalog
	status := s.server.change(func() (edit, iggywire.Status) {
		st := c.stream(req.Stream)
		switch {
		case st == nil:
			return edit{}, iggywire.StatusStreamNotFound
		case !s.me().in(st).manageTopics():
			return edit{}, iggywire.StatusUnauthorized
		}
		settings, status := s.server.newTopicSettings(req)
		switch {
		case status != iggywire.StatusOK:
			return edit{}, status
		case st.topicNames[req.Name] != nil:
			return edit{}, iggywire.StatusTopicExists
		}
		t := &topic{
			id: st.topics.next(), stream: st, settings: settings, createdAt: s.server.now(),
			incarnation: c.nextIncarnation, groupNames: make(map[string]*group),
		}
		s.server.addPartitions(t, req.Partitions, t.createdAt)
		c.nextIncarnation++
		st.topics.add(t)
		st.topicNames[settings.Name] = t
		details := t.describe(true)
		for i := range details.PartitionList {
			details.PartitionList[i].Segments = 0 // as the real server: this answer is older than the segments
		}
		dst = details.AppendTo(dst)
		return edit{records: []record{topicRecord(t), incarnationRecord(c.nextIncarnation)}}, iggywire.StatusOK
	})
	return dst, status
}

// newTopicSettings refuses a maximum size below that of a segment.
func (s *Server) newTopicSettings(req iggywire.CreateTopic) (topicSettings, iggywire.Status) {
	settings := topicSettings{
		Name: req.Name, MessageExpiry: req.MessageExpiry, Compression: req.Compression,
		MaxSize: req.MaxSize, ReplicationFactor: max(req.ReplicationFactor, 1),
	}
	if settings.MessageExpiry == iggywire.ServerDefault {
		settings.MessageExpiry = iggywire.NeverExpire
	}
	if settings.MaxSize == iggywire.ServerDefault {
		settings.MaxSize = iggywire.UnlimitedSize
	}
	switch {
	case settings.MaxSize < s.cfg.SegmentSize:
		return settings, iggywire.StatusInvalidTopicSize
	case !validCompression(req.Compression):
		return settings, iggywire.StatusInvalidCommand
	}
	return settings, iggywire.StatusOK
}

func validCompression(c uint8) bool {
	return c == iggywire.CompressionNone || c == iggywire.CompressionGzip
}

// changeTopic carries out a change of a topic by somebody who manages it.
func (s *session) changeTopic(stream, topic iggywire.Identifier, do func(*topic) (edit, iggywire.Status)) iggywire.Status {
	return s.server.change(func() (edit, iggywire.Status) {
		t, status := s.server.catalog.topic(stream, topic)
		switch {
		case status != iggywire.StatusOK:
			return edit{}, status
		case !s.me().at(t).manageTopic():
			return edit{}, iggywire.StatusUnauthorized
		}
		return do(t)
	})
}

// updateTopic stores the settings as they come: unlike at creation nothing is
// resolved to the server's default or checked against the size of a segment.
func (s *session) updateTopic(req iggywire.UpdateTopic, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeTopic(req.Stream, req.Topic, func(t *topic) (edit, iggywire.Status) {
		names := t.stream.topicNames
		if !validCompression(req.Compression) {
			return edit{}, iggywire.StatusInvalidCommand
		}
		if other := names[req.Name]; other != nil && other != t {
			return edit{}, iggywire.StatusTopicExists
		}
		delete(names, t.settings.Name)
		t.settings = topicSettings{
			Name: req.Name, MessageExpiry: req.MessageExpiry, Compression: req.Compression,
			MaxSize: req.MaxSize, ReplicationFactor: max(req.ReplicationFactor, 1),
		}
		names[req.Name] = t
		return edit{records: []record{topicRecord(t)}}, iggywire.StatusOK
	})
}

func (s *session) deleteTopic(req iggywire.DeleteTopic, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeTopic(req.Stream, req.Topic, func(t *topic) (edit, iggywire.Status) {
		var e edit
		t.remove(&e)
		t.stream.topics.remove(t.id)
		delete(t.stream.topicNames, t.settings.Name)
		return e, iggywire.StatusOK
	})
}

// remove adds to e what the store must forget of the topic.
func (t *topic) remove(e *edit) {
	e.records = append(e.records, record{key: topicKey(t)})
	for _, g := range t.groups.all {
		e.records = append(e.records, record{key: groupKey(g)})
		g.disband()
	}
	t.drop(0, e)
}

func (s *session) purgeTopic(req iggywire.PurgeTopic, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeTopic(req.Stream, req.Topic, func(t *topic) (edit, iggywire.Status) {
		var e edit
		s.server.purge(t, &e)
		return e, iggywire.StatusOK
	})
}

// purge empties a topic by giving it new logs, and adds to e what the store must
// do about it.
func (s *Server) purge(t *topic, e *edit) {
	c := &s.catalog
	old := t.partitions
	t.drop(0, e)
	t.incarnation, t.partitions = c.nextIncarnation, nil
	c.nextIncarnation++
	s.addPartitions(t, uint32(len(old)), 0)
	for i, p := range t.partitions {
		p.createdAt = old[i].createdAt
	}
	e.records = append(e.records, topicRecord(t), incarnationRecord(c.nextIncarnation))
}
