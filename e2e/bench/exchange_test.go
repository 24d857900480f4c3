// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What passes is asked again, what does not is not, and there is an end to it.
func TestUntilServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			answers []error // the last one for ever
			want    []error // all of them; none: success
			asked   int     // 0: any number
		}{
			{[]error{nil}, nil, 1},
			{[]error{kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, nil}, nil, 3},
			{[]error{kerr.NotCoordinator, kerr.GroupAuthorizationFailed}, []error{kerr.GroupAuthorizationFailed}, 2},
			{[]error{kerr.NotCoordinator}, []error{kerr.NotCoordinator, context.DeadlineExceeded}, 0},
		} {
			asked := 0
			err := untilServed(t.Context(), func() error {
				asked++
				return test.answers[min(asked, len(test.answers))-1]
			})
			if len(test.want) == 0 && err != nil || test.asked != 0 && asked != test.asked {
				t.Errorf("%v: %v after %d times", test.answers, err, asked)
			}
			for _, want := range test.want {
				if !errors.Is(err, want) {
					t.Errorf("%v: %v, want %v", test.answers, err, want)
				}
			}
		}
	})
}

// The body of an answer begins behind the tags of its header, if its version has any.
func TestAsk(t *testing.T) {
	for version := range int16(5) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			request := make([]byte, 1<<10)
			there.Read(request)
			body := []byte{0, 0, 0, 1} // the correlation id
			if version >= 4 {
				body = append(body, 0)
			}
			answer := kmsg.HeartbeatResponse{Version: version, ErrorCode: kerr.UnknownMemberID.Code}
			body = answer.AppendTo(body)
			there.Write(append([]byte{0, 0, 0, byte(len(body))}, body...))
		}()
		request := kmsg.NewPtrHeartbeatRequest()
		request.Version = version
		answer, err := ask[*kmsg.HeartbeatResponse](here, request)
		if err != nil || answer.ErrorCode != kerr.UnknownMemberID.Code {
			t.Errorf("version %d: %+v, %v", version, answer, err)
		}
		here.Close()
	}
}

func TestAtOnce(t *testing.T) {
	var calls atomic.Int32
	err := atOnce(10, func(i int) error {
		calls.Add(1)
		if i == 7 {
			return errCannot
		}
		return nil
	})
	if !errors.Is(err, errCannot) || calls.Load() != 10 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	if err := atOnce(3, func(int) error { return nil }); err != nil {
		t.Error(err)
	}
}
