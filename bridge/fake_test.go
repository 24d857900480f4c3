// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// fakeIggy is as much of an Iggy server as the bridge needs, in memory and reached over net.Pipe, so that tests run in
// synctest's time. fault decides, before a command is executed, what goes wrong with it.
type fakeIggy struct {
	mu    sync.Mutex
	fault func(code iggywire.Code) fault
	after func(code iggywire.Code) // runs once a command was executed, before it is answered; mu is held
	down  bool                     // refuses connections
	// other executes what the fake has no part in; nil: all of that succeeds. mu is held.
	other   func(code iggywire.Code, body []byte) (iggywire.Status, []byte)
	seen    func(net.Conn, iggywire.Code) // runs before a command is executed; mu is held
	users   *fakeUsers                    // nil: everybody is the gateway's own user
	streams map[string]*fakeStream
	nextID  uint32
	clock   uint64
	count   map[iggywire.Code]int
	conns   map[net.Conn]struct{}
	dials   int
	polled  int // messages that polls have brought
	served  sync.WaitGroup
}

type fakeStream struct {
	id      uint32
	created uint64
	topics  map[string]*fakeTopic
}

type fakeTopic struct {
	id         uint32
	created    uint64
	partitions []fakePartition

	compression, replication uint8
	expiry, maxSize          uint64
}

type fakePartition struct {
	first    int64 // offset of messages[0]
	messages [][]byte
}

// fault is what a fakeIggy does instead of behaving.
type fault int

const (
	behave     fault = iota
	hang             // never answer this one, nor any after it on the connection
	dropBefore       // close the connection, the command not executed
	dropAfter        // execute, close without an answer
	dropLate         // close without an answer, execute half a second later
	cut              // execute, answer half
	garbage          // execute, answer bytes that are no answer
	slow             // wait a second first
	brief            // wait a millisecond first
	refuse           // status 4022
	unauthed         // status 40
)

func newFakeIggy(t *testing.T) *fakeIggy {
	f := &fakeIggy{
		streams: map[string]*fakeStream{}, count: map[iggywire.Code]int{}, conns: map[net.Conn]struct{}{}, clock: 1_700_000_000_000_000,
	}
	t.Cleanup(f.close)
	return f
}

func (f *fakeIggy) close() {
	f.mu.Lock()
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.served.Wait()
}

// open opens a bridge on the fake, closed at the end of the test.
func (f *fakeIggy) open(t *testing.T, change func(*Config)) *Bridge {
	t.Helper()
	cfg := Config{Addr: "iggy:8090", Username: "iggy", Password: "iggy", Names: NewNames("kafka"), Dial: f.dial}
	if change != nil {
		change(&cfg)
	}
	b, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		b.Close(ctx)
	})
	return b
}

func (f *fakeIggy) dial(context.Context, string, string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	if f.down {
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	f.conns[server] = struct{}{}
	f.served.Go(func() { f.serve(server) })
	return client, nil
}

func (f *fakeIggy) setFault(fault func(iggywire.Code) fault) {
	f.mu.Lock()
	f.fault = fault
	f.mu.Unlock()
}

// once makes the next command of a code go wrong.
func (f *fakeIggy) once(code iggywire.Code, what fault) {
	done := false
	f.setFault(func(c iggywire.Code) fault {
		if c != code || done {
			return behave
		}
		done = true
		return what
	})
}

func (f *fakeIggy) asked(code iggywire.Code) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[code]
}

func (f *fakeIggy) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		f.mu.Lock()
		delete(f.conns, c)
		if f.users != nil {
			delete(f.users.on, c)
		}
		f.mu.Unlock()
	}()
	var header [iggywire.HeaderSize]byte
	for {
		if _, err := io.ReadFull(c, header[:]); err != nil {
			return
		}
		code, n, err := iggywire.ParseRequestHeader(header[:])
		if err != nil {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		if !f.answer(c, code, body) {
			return
		}
	}
}

func (f *fakeIggy) answer(c net.Conn, code iggywire.Code, body []byte) (goOn bool) {
	f.mu.Lock()
	f.count[code]++
	if f.seen != nil {
		f.seen(c, code)
	}
	what := behave
	if f.fault != nil {
		what = f.fault(code)
	}
	status, out := iggywire.StatusOK, []byte(nil)
	switch what {
	case hang: // and whatever comes after it on this connection: answers keep the order of requests
		f.mu.Unlock()
		_, _ = io.Copy(io.Discard, c)
		return false
	case dropBefore:
		f.mu.Unlock()
		return false
	case dropLate:
		f.mu.Unlock()
		f.served.Go(func() {
			time.Sleep(500 * time.Millisecond)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.executeFor(c, code, body)
		})
		return false
	case slow, brief:
		pause := time.Second
		if what == brief {
			pause = time.Millisecond
		}
		f.mu.Unlock()
		time.Sleep(pause)
		f.mu.Lock()
		status, out = f.executeFor(c, code, body)
	case refuse:
		status = iggywire.StatusTooBigMessagePayload
	case unauthed:
		status = iggywire.StatusUnauthenticated
	default:
		status, out = f.executeFor(c, code, body)
		if f.after != nil {
			f.after(code)
		}
	}
	f.mu.Unlock()
	frame := append(iggywire.AppendResponseHeader(nil, status, len(out)), out...)
	switch what {
	case dropAfter:
		return false
	case cut:
		_, _ = c.Write(frame[:len(frame)/2])
		return false
	case garbage:
		frame = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	}
	_, err := c.Write(frame)
	return err == nil
}

func (f *fakeIggy) now() uint64 { f.clock++; return f.clock }

func (f *fakeIggy) execute(code iggywire.Code, body []byte) (iggywire.Status, []byte) {
	switch code {
	case iggywire.CodeLoginUser:
		return iggywire.StatusOK, iggywire.Identity{UserID: 0}.AppendTo(nil)
	case iggywire.CodeCreateStream:
		req, _ := iggywire.ParseCreateStream(body)
		f.streams[req.Name] = &fakeStream{id: f.id(), created: f.now(), topics: map[string]*fakeTopic{}}
		return iggywire.StatusOK, f.streamDetails(req.Name)
	case iggywire.CodeGetStream:
		req, _ := iggywire.ParseGetStream(body)
		name, _ := req.Stream.Name()
		return iggywire.StatusOK, f.streamDetails(name)
	case iggywire.CodeCreateTopic:
		req, _ := iggywire.ParseCreateTopic(body)
		return f.createTopic(req)
	case iggywire.CodeDeleteTopic:
		req, _ := iggywire.ParseDeleteTopic(body)
		s, name, t := f.find(req.Stream, req.Topic)
		if t == nil {
			return iggywire.StatusTopicNotFound, nil
		}
		delete(s.topics, name)
		return iggywire.StatusOK, nil
	case iggywire.CodeUpdateTopic:
		req, _ := iggywire.ParseUpdateTopic(body)
		_, _, t := f.find(req.Stream, req.Topic)
		if t == nil {
			return iggywire.StatusTopicNotFound, nil
		}
		t.compression, t.expiry, t.maxSize, t.replication = req.Compression, req.MessageExpiry, req.MaxSize, req.ReplicationFactor
		return iggywire.StatusOK, nil
	case iggywire.CodeCreatePartitions:
		req, _ := iggywire.ParseCreatePartitions(body)
		_, _, t := f.find(req.Stream, req.Topic)
		if t == nil {
			return iggywire.StatusTopicNotFound, nil
		}
		t.partitions = append(t.partitions, make([]fakePartition, req.Partitions)...)
		return iggywire.StatusOK, nil
	case iggywire.CodeGetTopic:
		req, _ := iggywire.ParseGetTopic(body)
		_, name, t := f.find(req.Stream, req.Topic)
		if t == nil {
			return iggywire.StatusOK, nil
		}
		return iggywire.StatusOK, t.details(name).AppendTo(nil)
	case iggywire.CodeSendMessages:
		req, status := iggywire.ParseSend(body)
		if status != iggywire.StatusOK {
			return status, nil
		}
		_, _, t := f.find(req.Stream, req.Topic)
		switch {
		case t == nil:
			return iggywire.StatusTopicNotFound, nil
		case int(req.Partitioning.Partition) >= len(t.partitions):
			return iggywire.StatusPartitionNotFound, nil
		}
		t.partitions[req.Partitioning.Partition].append(f.now(), req.Messages)
		return iggywire.StatusOK, nil
	case iggywire.CodePollMessages:
		req, _ := iggywire.ParsePoll(body)
		_, _, t := f.find(req.Stream, req.Topic)
		if t == nil {
			return iggywire.StatusTopicNotFound, nil
		}
		out := t.partitions[req.Partition].poll(req)
		if res, err := iggywire.ParsePollResult(out); err == nil {
			f.polled += int(res.Count)
		}
		return iggywire.StatusOK, out
	default:
		if f.other != nil {
			return f.other(code, body)
		}
		return iggywire.StatusOK, nil
	}
}

func (f *fakeIggy) id() uint32 { f.nextID++; return f.nextID }

func (f *fakeIggy) find(stream, topic iggywire.Identifier) (*fakeStream, string, *fakeTopic) {
	sn, _ := stream.Name()
	tn, _ := topic.Name()
	s := f.streams[sn]
	if s == nil {
		return nil, tn, nil
	}
	return s, tn, s.topics[tn]
}

func (f *fakeIggy) streamDetails(name string) []byte {
	s := f.streams[name]
	if s == nil {
		return nil
	}
	d := iggywire.StreamDetails{Stream: iggywire.Stream{ID: s.id, CreatedAt: s.created, Topics: uint32(len(s.topics)), Name: name}}
	for tn, t := range s.topics {
		d.TopicList = append(d.TopicList, t.details(tn).Topic)
	}
	return d.AppendTo(nil)
}

func (f *fakeIggy) createTopic(req iggywire.CreateTopic) (iggywire.Status, []byte) {
	name, _ := req.Stream.Name()
	s := f.streams[name]
	switch {
	case s == nil:
		return iggywire.StatusStreamNotFound, nil
	case s.topics[req.Name] != nil:
		return iggywire.StatusTopicExists, nil
	case req.MaxSize > 0 && req.MaxSize < MinTopicSize:
		return iggywire.StatusInvalidTopicSize, nil
	}
	t := &fakeTopic{id: f.id(), created: f.now(), partitions: make([]fakePartition, req.Partitions)}
	t.compression, t.expiry, t.maxSize, t.replication = req.Compression, req.MessageExpiry, req.MaxSize, req.ReplicationFactor
	s.topics[req.Name] = t
	return iggywire.StatusOK, t.details(req.Name).AppendTo(nil)
}

func (t *fakeTopic) details(name string) iggywire.TopicDetails {
	d := iggywire.TopicDetails{
		Topic: iggywire.Topic{
			ID: t.id, CreatedAt: t.created, Partitions: uint32(len(t.partitions)), Name: name,
			Compression: t.compression, MessageExpiry: t.expiry, MaxSize: t.maxSize, ReplicationFactor: t.replication,
		},
	}
	for i := range t.partitions {
		p := &t.partitions[i]
		size := 0
		for _, m := range p.messages {
			size += len(m)
		}
		d.PartitionList = append(d.PartitionList, iggywire.Partition{
			ID: uint32(i), CreatedAt: t.created, Segments: 1,
			CurrentOffset: p.current(), Size: uint64(size), Messages: uint64(len(p.messages)),
		})
	}
	return d
}

func (p *fakePartition) current() uint64 {
	return uint64(max(p.first+int64(len(p.messages))-1, 0))
}

func (p *fakePartition) append(now uint64, messages []byte) {
	for rest := append([]byte(nil), messages...); len(rest) > 0; {
		var m []byte
		m, rest, _ = iggywire.NextMessage(rest)
		iggywire.Stamp(m, uint64(p.first)+uint64(len(p.messages)), now, func([]byte) uint64 { return 0 })
		p.messages = append(p.messages, m)
	}
}

func (p *fakePartition) poll(req iggywire.Poll) []byte {
	from := int64(0)
	switch req.Strategy {
	case iggywire.PollOffset:
		from = max(int64(req.Value)-p.first, 0)
	case iggywire.PollTimestamp:
		from = int64(slices.IndexFunc(p.messages, func(m []byte) bool { return iggywire.MessageTimestamp(m) >= req.Value }))
		if from < 0 {
			from = int64(len(p.messages))
		}
	}
	from = min(from, int64(len(p.messages)))
	to := min(from+int64(req.Count), int64(len(p.messages)))
	res := iggywire.PollResult{Partition: req.Partition, CurrentOffset: p.current(), Count: uint32(to - from)}
	out := res.AppendHeader(nil)
	for _, m := range p.messages[from:to] {
		out = append(out, m...)
	}
	return out
}

// partition reaches into the fake; mu must be held or the bridge at rest.
func (f *fakeIggy) partition(topic string, p int) *fakePartition {
	return &f.streams["kafka"].topics[topic].partitions[p]
}

// foreign writes n messages as somebody else. mu must be held.
func (f *fakeIggy) foreign(topic string, p, n int) {
	f.partition(topic, p).append(f.now(), messages(0xF0, n))
}

// messages makes n messages with payloads of 3 bytes and ids that begin with tag and end with the number.
func messages(tag byte, n int) []byte {
	var out []byte
	for i := range n {
		m := make([]byte, iggywire.MessageHeaderSize+3)
		m[8], m[22], m[23] = tag, byte(i>>8), byte(i)+1
		m[52] = 3 // payload length
		copy(m[iggywire.MessageHeaderSize:], "abc")
		out = append(out, m...)
	}
	return out
}

// batch is an append of n messages that waits at most 20 s.
func batch(b *Bridge, tag byte, n int) *Append {
	return &Append{Session: b.Self(), Messages: messages(tag, n), Count: n, Deadline: time.Now().Add(20 * time.Second)}
}

// topic creates a topic and returns it.
func topic(t *testing.T, b *Bridge, name string, partitions int32) *Topic {
	t.Helper()
	top, err := b.CreateTopic(t.Context(), b.Self(), TopicSpec{Name: name, Partitions: partitions})
	if err != nil {
		t.Fatalf("CreateTopic: %v", err)
	}
	return top
}

// write appends and waits.
func write(t *testing.T, b *Bridge, top *Topic, p int32, a *Append) (Appended, error) {
	t.Helper()
	if err := b.Append(top, p, a); err != nil {
		return Appended{}, err
	}
	return a.Wait(t.Context())
}

// inBubble runs a test in synctest's time with a fake Iggy and a bridge on it.
func inBubble(t *testing.T, change func(*Config), run func(t *testing.T, f *fakeIggy, b *Bridge)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeIggy(t)
		run(t, f, f.open(t, change))
	})
}
