// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	exchangeTimeout = 30 * time.Second
	maxAnswer       = 1 << 20
)

// exchange writes a request and returns its answer, behind the correlation id.
func exchange(conn net.Conn, request kmsg.Request) ([]byte, error) {
	const correlation = 1
	if err := conn.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, request, correlation)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if got := binary.BigEndian.Uint32(head[4:]); got != correlation || size < 4 || size > maxAnswer {
		return nil, fmt.Errorf("bench: an answer of %d bytes to request %d", size, got)
	}
	body := make([]byte, size-4)
	_, err := io.ReadFull(conn, body)
	return body, err
}

// ask is exchange for those who want to know what the answer says.
func ask[A kmsg.Response](conn net.Conn, request kmsg.Request) (answer A, err error) {
	body, err := exchange(conn, request)
	if err != nil {
		return answer, err
	}
	answer = request.ResponseKind().(A)
	if answer.IsFlexible() && len(body) > 0 {
		body = body[1:] // the tags of the header: there are none
	}
	if err := answer.ReadFrom(body); err != nil {
		return answer, fmt.Errorf("bench: the answer to %s: %w", kmsg.NameForKey(request.Key()), err)
	}
	return answer, nil
}

// untilServed repeats what fails for a time only, while a coordinator is found or loads, or the first topic of offsets is made.
func untilServed(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	for {
		err := ask()
		if err == nil || !kerr.IsRetriable(err) {
			return err
		}
		if late := pause(ctx, 20*time.Millisecond); late != nil {
			return errors.Join(err, late)
		}
	}
}

// pause waits, but not longer than ctx lasts.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// atOnce calls f for 0 to n-1, each in a goroutine of its own, and returns when all of them have.
func atOnce(n int, f func(i int) error) error {
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs[i] = f(i) })
	}
	running.Wait()
	return errors.Join(errs...)
}
