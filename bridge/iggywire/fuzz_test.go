// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"bytes"
	"testing"
)

// FuzzBody feeds any bytes to the parser of any command, as a request or as an
// answer. It must not panic, and what it accepts must be written in a form that
// it reads back to the same: one round settles the bytes.
func FuzzBody(f *testing.F) {
	for _, e := range readTranscript(f) {
		f.Add(uint32(e.Code), false, []byte(e.Request))
		f.Add(uint32(e.Code), true, []byte(e.Response))
	}
	codecs := codecs()
	f.Fuzz(func(t *testing.T, code uint32, answer bool, body []byte) {
		codec, known := codecs[Code(code)]
		if !known {
			return
		}
		recode := codec.request
		if answer {
			recode = codec.answer
		}
		once, err := recode(body)
		if err != nil {
			return
		}
		twice, err := recode(once)
		if err != nil {
			t.Fatalf("%v: written form is refused: %v", Code(code), err)
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("%v: written %x, then %x", Code(code), once, twice)
		}
	})
}

// FuzzSend checks that a send accepted by Validate is made of the messages that
// NextMessage finds, in the places that AppendIndexes gives them.
func FuzzSend(f *testing.F) {
	for _, e := range readTranscript(f) {
		if e.Code == CodeSendMessages {
			f.Add([]byte(e.Request))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, status := ParseSend(body)
		if status != StatusOK || req.Validate() != StatusOK {
			return
		}
		indexes, count, err := AppendIndexes(nil, req.Messages, 0)
		if err != nil {
			t.Fatal(err)
		}
		if count != int(req.Count) || !bytes.Equal(indexes, req.Indexes) {
			t.Errorf("%d messages with indexes %x, walked %d with %x", req.Count, req.Indexes, count, indexes)
		}
	})
}

// FuzzHeader checks that a header that is accepted is written as it was read.
func FuzzHeader(f *testing.F) {
	f.Add(AppendRequestHeader(nil, CodePing, 0))
	f.Add(AppendResponseHeader(nil, StatusUnauthenticated, 0))
	f.Add([]byte{3, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if code, n, err := ParseRequestHeader(b); err == nil {
			if got := AppendRequestHeader(nil, code, n); !bytes.Equal(got, b[:HeaderSize]) {
				t.Errorf("request header %x written as %x", b[:HeaderSize], got)
			}
		}
		if status, n, err := ParseResponseHeader(b); err == nil {
			if got := AppendResponseHeader(nil, status, n); !bytes.Equal(got, b[:HeaderSize]) {
				t.Errorf("answer header %x written as %x", b[:HeaderSize], got)
			}
		}
	})
}
