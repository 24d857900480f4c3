// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "errors"

// What can be wrong with a frame. Every error of this package that blames the peer wraps exactly one of these;
// after any of them the connection has to be closed, since no body could be told apart or answered.
var (
	// ErrBadLength: the frame's length is negative or too small for a request header.
	ErrBadLength = errors.New("bad frame length")
	// ErrFrameTooLarge: the frame's length is above the limit of its API.
	ErrFrameTooLarge = errors.New("frame too large")
	// ErrUnknownAPI: the API key is unknown or not served.
	ErrUnknownAPI = errors.New("API not served")
	// ErrUnsupportedVersion: the API is served, but not in this version.
	ErrUnsupportedVersion = errors.New("version not served")
	// ErrMalformed: the bytes do not follow the layout of their API and version.
	ErrMalformed = errors.New("malformed request")
	// ErrOverBudget: the layout is right, but the request holds more array elements or tagged fields than
	// a request may make the decoder allocate.
	ErrOverBudget = errors.New("request over budget")
)
