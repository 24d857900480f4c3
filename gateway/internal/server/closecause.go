// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// CloseCause is why a connection was closed, the same in logs and metrics.
type CloseCause uint8

// The causes. What a comment does not say, the name does.
const (
	PeerClosed                CloseCause = iota + 1 // the client closed, or the network failed
	IdleTimeout                                     // no frame begun and none being answered
	ReadTimeout                                     // a frame begun and not finished in time
	WriteTimeout                                    // the client did not take an answer in time
	TLSHandshake                                    // failed, or not finished in time
	PlainText                                       // a client without TLS on a TLS listener
	UnexpectedTLS                                   // a client with TLS on a listener without
	BadLength                                       // the frame's length is negative or too small
	FrameTooLarge                                   // the frame's length is above its API's limit
	UnknownAPI                                      // the API is unknown or not served
	UnsupportedVersion                              // the API is not served in this version
	Malformed                                       // the request does not follow its layout
	RequestOverBudget                               // more elements, tags or decoded bytes than any request may have
	FrameBudget                                     // no room to read the frame in time
	DecodeBudget                                    // no room to decode the request in time
	ResponseBudget                                  // no room for the answer in time
	ResponseTooLarge                                // the answer is above MaxResponseSize
	Unauthenticated                                 // a request out of turn, from who has not authenticated
	AuthenticationTimeout                           // nobody has authenticated, and no frame begun
	AuthenticationFailed                            // wrong credentials, or a mechanism that is not offered
	AuthenticationUnavailable                       // the credentials could not be checked in time
	SessionExpired                                  // the client has not authenticated again within the lifetime of its session
	UserRefused                                     // its user is not let in any more, or cannot be asked about: the client has to sign in again
	HandlerRefused                                  // the handler returned an error
	HandlerPanicked
	TooManyConnections // above MaxConnections, closed as accepted
	Shutdown           // after all that was in flight had been answered
	ShutdownCut        // at the end of the drain, with requests in flight
	numCauses
)

// CloseCauses returns all of them.
func CloseCauses() []CloseCause {
	var all []CloseCause
	for c := PeerClosed; c < numCauses; c++ {
		all = append(all, c)
	}
	return all
}

func (c CloseCause) String() string {
	names := [numCauses]string{
		PeerClosed:         "peer_closed",
		IdleTimeout:        "idle_timeout",
		ReadTimeout:        "read_timeout",
		WriteTimeout:       "write_timeout",
		TLSHandshake:       "tls_handshake",
		PlainText:          "plain_text",
		UnexpectedTLS:      "unexpected_tls",
		BadLength:          "bad_length",
		FrameTooLarge:      "frame_too_large",
		UnknownAPI:         "unknown_api",
		UnsupportedVersion: "unsupported_version",
		Malformed:          "malformed",
		RequestOverBudget:  "request_over_budget",
		FrameBudget:        "frame_budget",
		DecodeBudget:       "decode_budget",
		ResponseBudget:     "response_budget",
		ResponseTooLarge:   "response_too_large",

		Unauthenticated:           "unauthenticated",
		AuthenticationTimeout:     "authentication_timeout",
		AuthenticationFailed:      "authentication_failed",
		AuthenticationUnavailable: "authentication_unavailable",
		SessionExpired:            "session_expired",
		UserRefused:               "user_refused",

		HandlerRefused:     "handler_refused",
		HandlerPanicked:    "handler_panicked",
		TooManyConnections: "too_many_connections",
		Shutdown:           "shutdown",
		ShutdownCut:        "shutdown_cut",
	}
	if c == 0 || c >= numCauses {
		return fmt.Sprintf("cause_%d", uint8(c))
	}
	return names[c]
}

// ofHandshake says that TLS ended before it carried anything.
func (c CloseCause) ofHandshake() bool { return c == TLSHandshake || c == PlainText }

// closing is why a connection is to be closed; the zero closing means that it is not.
type closing struct {
	cause CloseCause
	err   error // what lies behind it, may be nil
}

// reason is a handler's error that says itself why the connection is to be closed.
type reason struct{ closing }

func (r *reason) Error() string { return fmt.Sprintf("server: %v: %v", r.cause, r.err) }
func (r *reason) Unwrap() error { return r.err }

// Closes is an error for a Pending to return: the connection is closed for that cause. err is what lies behind it.
func Closes(cause CloseCause, err error) error { return &reason{closing{cause, err}} }

// abrupt says that nobody is left to take the answers still owed.
func (c closing) abrupt() bool {
	switch c.cause {
	case PeerClosed, WriteTimeout, ShutdownCut:
		return true
	}
	return false
}

// readFailure sorts an error that came up while a request was read and checked.
func readFailure(err error) closing {
	kinds := [...]struct {
		is    error
		cause CloseCause
	}{
		{wire.ErrBadLength, BadLength},
		{wire.ErrFrameTooLarge, FrameTooLarge},
		{wire.ErrUnknownAPI, UnknownAPI},
		{wire.ErrUnsupportedVersion, UnsupportedVersion},
		{wire.ErrMalformed, Malformed},
		{wire.ErrOverBudget, RequestOverBudget},
		{os.ErrDeadlineExceeded, ReadTimeout},
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.is) {
			return closing{kind.cause, err}
		}
	}
	return peerClosed(err)
}

// writeFailure sorts an error that came up while an answer was written.
func writeFailure(err error) closing {
	if isTimeout(err) {
		return closing{WriteTimeout, err}
	}
	return peerClosed(err)
}

// peerClosed leaves out the error of a stream that ended where it may.
func peerClosed(err error) closing {
	if err == io.EOF {
		err = nil
	}
	return closing{PeerClosed, err}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
