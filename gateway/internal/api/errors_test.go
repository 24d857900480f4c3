// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

func status(s iggywire.Status) error { return fmt.Errorf("bridge: %w", &bridge.StatusError{Status: s}) }

// Each class of failure, for each operation, as Kafka's clients understand it: 6 only when surely nothing was written,
// 7 when it may have been, and never a code that makes a client give up for a failure of the way to Iggy.
func TestErrorCodes(t *testing.T) {
	var log strings.Builder
	now := time.Unix(0, 0)
	a := &API{Deps: Deps{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time {
		now = now.Add(time.Second) // slowly enough for each to be logged
		return now
	}}}
	ops := []operation{opProduce, opFetch, opListOffsets, opMetadata, opCreateTopics, opDeleteTopics}
	all := func(code int16) []int16 { return []int16{code, code, code, code, code, code} }
	for _, tc := range []struct {
		name   string
		err    error
		late   bool // the request's time is over
		codes  []int16
		logged bool
	}{
		{name: "none", codes: all(none)},
		{name: "unavailable", err: bridge.ErrUnavailable, codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "connection lost", err: bridge.ErrConnectionLost, codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "malformed", err: bridge.ErrMalformed, codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "queue full", err: bridge.ErrBusy, codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "closed", err: bridge.ErrClosed, codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "unknown outcome", err: bridge.ErrUnknownOutcome, codes: []int16{7, 6, 6, 7, 7, 7}},
		{name: "deadline", err: context.DeadlineExceeded, codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "late", err: context.DeadlineExceeded, late: true, codes: []int16{7, 6, 6, 7, 7, 7}},
		{name: "unavailable all its time", err: bridge.ErrUnavailable, late: true, codes: []int16{6, 6, 6, 7, 7, 7}},
		{name: "unknown, and unavailable since", err: errors.Join(bridge.ErrUnknownOutcome, bridge.ErrUnavailable), codes: []int16{7, 6, 6, 7, 7, 7}},
		{name: "settings not loaded", err: fmt.Errorf("api: %w", coordinator.ErrLoadInProgress), codes: []int16{6, 6, 6, 5, 7, 7}},
		{name: "sequence", err: fmt.Errorf("bridge: %w", bridge.ErrOutOfOrderSequence), codes: all(45)},
		{name: "sequence, late", err: bridge.ErrOutOfOrderSequence, late: true, codes: all(45)},
		{name: "epoch", err: bridge.ErrInvalidProducerEpoch, codes: all(47)},
		{name: "topic gone", err: bridge.ErrTopicNotFound, codes: all(3)},
		{name: "partition gone", err: bridge.ErrPartitionNotFound, codes: all(3)},
		{name: "topic not found", err: status(iggywire.StatusTopicNotFound), codes: all(3)},
		{name: "exists", err: status(iggywire.StatusTopicExists), codes: all(36)},
		{name: "unauthorized", err: status(iggywire.StatusUnauthorized), codes: all(29)},
		{name: "too large", err: status(iggywire.StatusTooBigMessagePayload), codes: all(10)},
		{name: "too many partitions", err: status(iggywire.StatusTooManyPartitions), codes: all(37)},
		{name: "login", err: status(iggywire.StatusInvalidCredentials), codes: all(-1), logged: true},
		{name: "another status", err: status(iggywire.StatusError), codes: all(-1), logged: true},
		{name: "another error", err: errors.New("?"), codes: all(-1), logged: true},
	} {
		for i, op := range ops {
			log.Reset()
			if got := a.code(op, tc.err, tc.late); got != tc.codes[i] {
				t.Errorf("%s, operation %d: %d, want %d", tc.name, op, got, tc.codes[i])
			}
			if logged := log.Len() > 0; logged != tc.logged {
				t.Errorf("%s, operation %d: logged %q", tc.name, op, log.String())
			}
		}
	}
}

// Every code that admin operations may come to has a text, and success has none.
func TestErrorTexts(t *testing.T) {
	for _, code := range []int16{unknownServerError, unknownTopicOrPartition, unknownTopicID, requestTimedOut, topicAuthorizationFailed, notController} {
		if text := errorText(code); text == nil || *text == "" {
			t.Errorf("%d has no text", code)
		}
	}
	if errorText(none) != nil {
		t.Error("success has a text")
	}
}

// Clients that provoke failures do not fill the log.
func TestFailuresInTheLog(t *testing.T) {
	var log strings.Builder
	now := time.Unix(0, 0)
	a := &API{Deps: Deps{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }}}
	for range 100 {
		a.logFailure("what", errors.New("why"))
	}
	now = now.Add(time.Second)
	a.logFailure("what", errors.New("why"))
	if n := strings.Count(log.String(), "msg=what err=why"); n != 2 {
		t.Errorf("%d lines in two seconds, want one in each:\n%s", n, log.String())
	}
}
