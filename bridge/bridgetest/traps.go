// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// traps are the ways of the protocol that a client has to know.
func (w *world) traps(t *testing.T) {
	t.Run("no answer", w.unanswered)
	t.Run("out of step", w.outOfStep)
	t.Run("many in flight", w.pipelined)
	t.Run("end of a partition by an empty poll", w.endByPoll)
	t.Run("one id twice", w.repeatedID)
	t.Run("log out ends what was asked for", w.loggedOut)
}

// unanswered: the server waits for bytes that do not come, or has lost its place.
func (w *world) unanswered(t *testing.T) {
	sendHead := iggywire.AppendSendHeader(nil, w.stream, w.topic, iggywire.ToPartition(0), 1)
	for name, frame := range map[string][]byte{
		"length 0":              {0, 0, 0, 0},
		"length 3":              {3, 0, 0, 0, 1, 0, 0},
		"send without a body":   iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, 0),
		"send without messages": append(iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(sendHead)), sendHead...),
		"half a frame":          iggywire.AppendFrame(nil, iggywire.GetStream{Stream: w.stream})[:12],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := w.dial(t, root)
			if err := c.peer.write(frame); err != nil {
				t.Fatal(err)
			}
			if err := c.peer.conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
				t.Fatal(err)
			}
			if status, _, err := c.peer.answer(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("status %v, %v; want no answer", status, err)
			}
		})
	}
}

// outOfStep: a send that was refused before its messages were read leaves them in the stream. Every later request is
// an invalid command, a login included.
func (w *world) outOfStep(t *testing.T) {
	c := w.dial(t, stranger)
	c.refused(iggywire.StatusUnauthenticated, w.send(0, message(1, "x")))
	for range 3 {
		c.refused(iggywire.StatusInvalidCommand, iggywire.Bare(iggywire.CodePing))
	}
	// One that was refused behind its messages does not.
	c = w.dial(t, root)
	for _, refused := range []struct {
		status iggywire.Status
		send   send
	}{
		{iggywire.StatusPartitionNotFound, w.send(9, message(1, "x"))},
		{iggywire.StatusTopicNotFound, send{w.stream, w.named("none"), iggywire.ToPartition(0), w.send(0, message(1, "x")).messages}},
		{iggywire.StatusInvalidMessagesCount, w.send(0)},
	} {
		c.refused(refused.status, refused.send)
		c.must(iggywire.Bare(iggywire.CodePing))
	}
}

// pipelined: answers come in the order of the requests, however many are in flight, failures among them; and a poll
// sees the sends before it.
func (w *world) pipelined(t *testing.T) {
	c := w.dial(t, root)
	topic := w.newTopic(c, 1)
	poll := w.poll(0, iggywire.PollOffset, 0, 0)
	poll.Topic = topic
	const rounds = 200
	var frames []byte
	for i := range rounds {
		id := [16]byte{}
		binary.LittleEndian.PutUint32(id[:], uint32(i+1))
		frames = iggywire.AppendFrame(frames, send{w.stream, topic, iggywire.ToPartition(0), []mapping.Message{{ID: id, Payload: []byte("x")}}})
		frames = iggywire.AppendFrame(frames, poll)
		frames = iggywire.AppendFrame(frames, iggywire.DeleteTopic{Stream: w.stream, Topic: w.named("none")})
	}
	written := make(chan error, 1)
	go func() { written <- c.peer.write(frames) }()
	for i := range rounds {
		var body []byte
		for _, want := range []iggywire.Status{iggywire.StatusOK, iggywire.StatusOK, iggywire.StatusTopicNotFound} {
			status, answer, err := c.peer.answer()
			if err != nil || status != want {
				t.Fatalf("round %d: %v, %v, want %v", i, status, err, want)
			}
			if len(answer) > 0 {
				body = answer
			}
		}
		if result, err := iggywire.ParsePollResult(body); err != nil || result.CurrentOffset != uint64(i) {
			t.Fatalf("round %d: current offset %d, %v", i, result.CurrentOffset, err)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// endByPoll is what the bridge verifies an append by: the answer to a send names no offset.
func (w *world) endByPoll(t *testing.T) {
	c := w.dial(t, root)
	topic := w.newTopic(c, 1)
	poll := w.poll(0, iggywire.PollOffset, 0, 0)
	poll.Topic = topic
	end := uint64(0)
	for _, n := range []int{1, 3, 1000} {
		var batch []mapping.Message
		for i := range n {
			batch = append(batch, message(byte(i), "x"))
		}
		if body := c.must(send{w.stream, topic, iggywire.ToPartition(0), batch}); len(body) != 0 {
			t.Errorf("a send is answered with %d bytes", len(body))
		}
		end += uint64(n)
		body := c.must(poll)
		if result, err := iggywire.ParsePollResult(body); err != nil || len(body) != iggywire.PollResultHeaderSize || result.CurrentOffset != end-1 {
			t.Errorf("%d bytes, current offset %d, %v; want %d", len(body), result.CurrentOffset, err, end-1)
		}
	}
}

// repeatedID: a server does not drop a message whose id it has seen, by its default settings.
func (w *world) repeatedID(t *testing.T) {
	c := w.dial(t, root)
	topic := w.newTopic(c, 1)
	for range 3 {
		c.must(send{w.stream, topic, iggywire.ToPartition(0), []mapping.Message{message(1, "x")}})
	}
	poll := w.poll(0, iggywire.PollFirst, 0, 10)
	poll.Topic = topic
	if _, got := polled(c, poll); len(got) != 3 {
		t.Errorf("%d messages", len(got))
	}
}

// loggedOut: what was in flight before a logout is carried out, what comes behind it is refused.
func (w *world) loggedOut(t *testing.T) {
	c := w.dial(t, root)
	var frames []byte
	for _, req := range []iggywire.Request{
		iggywire.GetStream{Stream: w.stream}, iggywire.Bare(iggywire.CodeLogoutUser), iggywire.GetStream{Stream: w.stream},
	} {
		frames = iggywire.AppendFrame(frames, req)
	}
	if err := c.peer.write(frames); err != nil {
		t.Fatal(err)
	}
	for i, want := range []iggywire.Status{iggywire.StatusOK, iggywire.StatusOK, iggywire.StatusUnauthenticated} {
		if status, _, err := c.peer.answer(); err != nil || status != want {
			t.Fatalf("answer %d: %v, %v, want %v", i, status, err, want)
		}
	}
}
