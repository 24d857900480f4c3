// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestHeader(t *testing.T) {
	for _, test := range []struct {
		name  string
		b     []byte
		code  Code
		body  int
		frame bool // ErrFrame
	}{
		{name: "ping", b: []byte{4, 0, 0, 0, 1, 0, 0, 0}, code: CodePing},
		{name: "send", b: []byte{14, 0, 0, 0, 101, 0, 0, 0, 9}, code: CodeSendMessages, body: 10},
		{name: "length 3", b: []byte{3, 0, 0, 0, 1, 0, 0, 0}, frame: true},
		{name: "short", b: []byte{4, 0, 0, 0, 1, 0, 0}, frame: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, body, err := ParseRequestHeader(test.b)
			if code != test.code || body != test.body || errors.Is(err, ErrFrame) != test.frame {
				t.Errorf("got %v, %d, %v", code, body, err)
			}
		})
	}
}

func TestResponseHeader(t *testing.T) {
	for _, test := range []struct {
		name   string
		b      []byte
		status Status
		body   int
		frame  bool
	}{
		{name: "ok", b: []byte{0, 0, 0, 0, 16, 0, 0, 0}, body: 16},
		{name: "failure", b: []byte{40, 0, 0, 0, 0, 0, 0, 0}, status: StatusUnauthenticated},
		{name: "failure with a body", b: []byte{40, 0, 0, 0, 1, 0, 0, 0}, frame: true},
		{name: "short", b: []byte{0, 0, 0, 0}, frame: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body, err := ParseResponseHeader(test.b)
			if status != test.status || body != test.body || errors.Is(err, ErrFrame) != test.frame {
				t.Errorf("got %v, %d, %v", status, body, err)
			}
		})
	}
}

func TestAppendFrame(t *testing.T) {
	got := AppendFrame([]byte{7}, GetStream{Stream: NumericID(5)})
	want := []byte{7, 10, 0, 0, 0, 200, 0, 0, 0, 1, 4, 5, 0, 0, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frame (-want +got):\n%s", diff)
	}
}

// TestLongName checks that a name that does not fit is refused by the other side
// rather than taken for a shorter one.
func TestLongName(t *testing.T) {
	for length, valid := range map[int]bool{0: false, 1: true, 255: true, 256: false, 257: false, 511: false} {
		name := strings.Repeat("x", length)
		if ValidName(name) != valid {
			t.Errorf("ValidName of %d bytes is %v", length, !valid)
		}
		_, err := ParseCreateStream(CreateStream{Name: name}.AppendTo(nil))
		if (err == nil) != valid {
			t.Errorf("name of %d bytes: %v", length, err)
		}
		if !valid && RequestStatus(err) != StatusInvalidFormat {
			t.Errorf("name of %d bytes: status %v", length, RequestStatus(err))
		}
	}
	if ValidName("\xff") {
		t.Error("a name that is not UTF-8 is valid")
	}
}

func TestIdentifier(t *testing.T) {
	for _, id := range []Identifier{NumericID(0), NumericID(1<<32 - 1), NamedID("x"), NamedID("f\u00fc\u6d41")} {
		got, rest, err := ParseIdentifier(append(AppendIdentifier(nil, id), "rest"...))
		if err != nil || got != id || string(rest) != "rest" {
			t.Errorf("%v: got %v, rest %q, %v", id, got, rest, err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing":        {},
		"unknown kind":   {3, 1, 'x'},
		"number of 3":    {1, 3, 0, 0, 0},
		"empty name":     {2, 0},
		"name cut short": {2, 5, 'x'},
		"not UTF-8":      {2, 1, 0xff},
	} {
		if _, _, err := ParseIdentifier(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTruncated cuts every body of the transcript at every byte: no parser may
// panic, and none may read what is not there.
func TestTruncated(t *testing.T) {
	codecs := codecs()
	for _, e := range readTranscript(t) {
		codec, known := codecs[e.Code]
		if !known || len(e.Request) > 2000 || len(e.Response) > 2000 {
			continue
		}
		for n := range e.Request {
			codec.request(e.Request[:n:n])
		}
		for n := range e.Response {
			codec.answer(e.Response[:n:n])
		}
	}
}

// TestTrailing checks that bytes behind an answer are refused and bytes behind a
// request ignored, as the real server does.
func TestTrailing(t *testing.T) {
	if _, err := ParseGetStream(append(GetStream{Stream: NumericID(1)}.AppendTo(nil), 0)); err != nil {
		t.Errorf("request: %v", err)
	}
	if _, err := ParseIdentity(append(Identity{UserID: 1}.AppendTo(nil), 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("answer: %v", err)
	}
}

// wireMessage is a message in wire form with the given lengths.
func wireMessage(payload, headers int) []byte {
	msg := make([]byte, MessageHeaderSize+payload+headers)
	binary.LittleEndian.PutUint32(msg[messageHeadersLength:], uint32(headers))
	binary.LittleEndian.PutUint32(msg[messagePayloadLength:], uint32(payload))
	return msg
}

// TestValidate gives sends whose parts do not fit together.
func TestValidate(t *testing.T) {
	valid := func() SendRequest {
		messages := append(wireMessage(10, 0), wireMessage(0, 5)...)
		indexes, count, err := AppendIndexes(nil, messages, 0)
		if err != nil {
			t.Fatal(err)
		}
		return SendRequest{Count: uint32(count), Indexes: indexes, Messages: messages}
	}
	for _, test := range []struct {
		name   string
		spoil  func(*SendRequest)
		status Status
	}{
		{"valid", func(*SendRequest) {}, StatusOK},
		{"no messages", func(s *SendRequest) { *s = SendRequest{} }, StatusInvalidMessagesCount},
		{"index with an offset", func(s *SendRequest) { s.Indexes[0] = 1 }, StatusNonZeroOffset},
		{"index with a timestamp", func(s *SendRequest) { s.Indexes[8] = 1 }, StatusNonZeroTimestamp},
		{"index behind the end", func(s *SendRequest) { s.Indexes[IndexSize+6] = 1 }, StatusMissingIndex},
		{"index going back", func(s *SendRequest) { s.Indexes[IndexSize+4] = 1 }, StatusMissingIndex},
		{"index within a message", func(s *SendRequest) { s.Indexes[4]-- }, StatusInvalidMessagesSize},
		{"bytes behind the last", func(s *SendRequest) { s.Messages = append(s.Messages, 0) }, StatusInvalidMessagesSize},
		{"offsets going back", func(s *SendRequest) { s.Messages[messageOffset] = 1 }, StatusInvalidOffset},
		{"payload too long", func(s *SendRequest) {
			binary.LittleEndian.PutUint32(s.Messages[messagePayloadLength:], MaxPayload+1)
		}, StatusTooBigMessagePayload},
		{"headers too long", func(s *SendRequest) {
			binary.LittleEndian.PutUint32(s.Messages[messageHeadersLength:], MaxUserHeaders+1)
		}, StatusTooBigUserHeaders},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := valid()
			test.spoil(&s)
			if got := s.Validate(); got != test.status {
				t.Errorf("got %v, want %v", got, test.status)
			}
		})
	}
}

// TestIndexesOfSeveralBatches lays out a send from messages that lie in several
// places: positions count on.
func TestIndexesOfSeveralBatches(t *testing.T) {
	first, second := wireMessage(3, 0), append(wireMessage(4, 0), wireMessage(5, 1)...)
	body := AppendSendHeader(nil, NumericID(1), NamedID("t"), ToPartition(2), 3)
	body, _, err := AppendIndexes(body, first, 0)
	if err != nil {
		t.Fatal(err)
	}
	body, count, err := AppendIndexes(body, second, uint32(len(first)))
	if err != nil || count != 2 {
		t.Fatal(count, err)
	}
	body = append(append(body, first...), second...)
	req, status := ParseSend(body)
	if status != StatusOK || req.Validate() != StatusOK || req.Count != 3 || req.Partitioning != ToPartition(2) {
		t.Errorf("%+v, %v", req, status)
	}
	if _, _, err := AppendIndexes(nil, first[:len(first)-1], 0); !errors.Is(err, ErrMalformed) {
		t.Errorf("message cut short: %v", err)
	}
	if _, _, err := AppendIndexes(nil, first, 1<<32-1); !errors.Is(err, ErrMalformed) {
		t.Errorf("send over 4 GiB: %v", err)
	}
}

// TestStrings checks that every code of the transcript has a name.
func TestStrings(t *testing.T) {
	for _, e := range readTranscript(t) {
		if e.Code.name() == "" && e.Status != StatusInvalidCommand {
			t.Errorf("code %d has no name", uint32(e.Code))
		}
		if e.Status.name() == "" {
			t.Errorf("status %d has no name", uint32(e.Status))
		}
	}
	if got := Code(9999).String(); got != "command(9999)" {
		t.Errorf("unknown code: %s", got)
	}
	if got := StatusTopicExists.Error(); got != "iggy status 2013 (topic name already exists)" {
		t.Errorf("status: %s", got)
	}
	if got := Status(77777).String(); got != "77777" {
		t.Errorf("unknown status: %s", got)
	}
}

// TestStamp checks what a stamp writes and what it sums up.
func TestStamp(t *testing.T) {
	msg := wireMessage(1, 0)
	Stamp(msg, 7, 9, func(b []byte) uint64 { return uint64(len(b)) })
	if MessageOffset(msg) != 7 || MessageTimestamp(msg) != 9 || binary.LittleEndian.Uint64(msg) != uint64(len(msg)-8) {
		t.Errorf("stamped %x", msg)
	}
	id := [16]byte{1, 15: 2}
	SetMessageID(msg, id)
	if MessageID(msg) != id {
		t.Errorf("id %x", MessageID(msg))
	}
}
