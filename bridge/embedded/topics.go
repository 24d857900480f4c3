// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

// segmentSize is the size in bytes of the real server's segments, below which no
// maximum size of a topic may be.
const segmentSize = 1 << 30

func (s *session) getTopics(req iggywire.GetTopics, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if st := c.stream(req.Stream); st != nil {
		for _, t := range st.topics.all {
			dst = t.describe(false).Topic.AppendTo(dst)
		}
	}
	return dst, iggywire.StatusOK
}

func (s *session) getTopic(req iggywire.GetTopic, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	if t, status := c.topic(req.Stream, req.Topic); status == iggywire.StatusOK {
		dst = t.describe(true).AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) createTopic(req iggywire.CreateTopic, dst []byte) ([]byte, iggywire.Status) {
	if req.Partitions > iggywire.MaxPartitions {
		return dst, iggywire.StatusTooManyPartitions
	}
	settings, status := newTopicSettings(req)
	if status != iggywire.StatusOK {
		return dst, status
	}
	c := &s.server.catalog
	c.mu.Lock()
	st := c.stream(req.Stream)
	switch {
	case st == nil:
		c.mu.Unlock()
		return dst, iggywire.StatusStreamNotFound
	case st.topicNames[req.Name] != nil:
		c.mu.Unlock()
		return dst, iggywire.StatusTopicExists
	}
	t := &topic{
		stream: st, settings: settings, createdAt: s.server.now(),
		incarnation: c.nextIncarnation,
	}
	if t.partitions, status = s.server.openPartitions(t.incarnation, 0, req.Partitions, t.createdAt); status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	c.nextIncarnation++
	t.id = st.topics.add(t)
	st.topicNames[settings.Name] = t
	details := t.describe(true)
	for i := range details.PartitionList {
		details.PartitionList[i].Segments = 0 // as the real server: this answer is older than the segments
	}
	wait := s.server.commit([]record{topicRecord(t), incarnationRecord(c.nextIncarnation)}, nil)
	c.mu.Unlock()
	return details.AppendTo(dst), wait()
}

func newTopicSettings(req iggywire.CreateTopic) (topicSettings, iggywire.Status) {
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
	case settings.MaxSize < segmentSize:
		return settings, iggywire.StatusInvalidTopicSize
	case !validCompression(req.Compression):
		return settings, iggywire.StatusInvalidCommand
	}
	return settings, iggywire.StatusOK
}

func validCompression(c uint8) bool {
	return c == iggywire.CompressionNone || c == iggywire.CompressionGzip
}

// updateTopic stores the settings as they come: unlike at creation nothing is
// resolved to the server's default or checked against the size of a segment.
func (s *session) updateTopic(req iggywire.UpdateTopic, dst []byte) ([]byte, iggywire.Status) {
	if !validCompression(req.Compression) {
		return dst, iggywire.StatusInvalidCommand
	}
	c := &s.server.catalog
	c.mu.Lock()
	t, status := c.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	names := t.stream.topicNames
	if other := names[req.Name]; other != nil && other != t {
		c.mu.Unlock()
		return dst, iggywire.StatusTopicExists
	}
	delete(names, t.settings.Name)
	t.settings = topicSettings{
		Name: req.Name, MessageExpiry: req.MessageExpiry, Compression: req.Compression,
		MaxSize: req.MaxSize, ReplicationFactor: max(req.ReplicationFactor, 1),
	}
	names[req.Name] = t
	wait := s.server.commit([]record{topicRecord(t)}, nil)
	c.mu.Unlock()
	return dst, wait()
}

func (s *session) deleteTopic(req iggywire.DeleteTopic, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.Lock()
	t, status := c.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	records, dropped := t.drop(0)
	t.stream.topics.remove(t.id)
	delete(t.stream.topicNames, t.settings.Name)
	wait := s.server.commit(append(records, record{key: topicKey(t)}), []logRange{dropped})
	c.mu.Unlock()
	return dst, wait()
}

func (s *session) purgeTopic(req iggywire.PurgeTopic, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.Lock()
	t, status := c.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	records, dropped, status := s.server.purge(t)
	if status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	wait := s.server.commit(records, []logRange{dropped})
	c.mu.Unlock()
	return dst, wait()
}

// purge empties a topic by giving it new logs. The catalogue is locked.
func (s *Server) purge(t *topic) ([]record, logRange, iggywire.Status) {
	c := &s.catalog
	fresh, status := s.openPartitions(c.nextIncarnation, 0, uint32(len(t.partitions)), 0)
	if status != iggywire.StatusOK {
		return nil, logRange{}, status
	}
	for i, p := range fresh {
		p.createdAt = t.partitions[i].createdAt
	}
	records, dropped := t.drop(0)
	t.incarnation, t.partitions = c.nextIncarnation, fresh
	c.nextIncarnation++
	return append(records, topicRecord(t), incarnationRecord(c.nextIncarnation)), dropped, iggywire.StatusOK
}
