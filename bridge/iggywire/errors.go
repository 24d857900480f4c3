// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed marks a body that is not what its command prescribes: too
	// short, too long, an unknown kind, text that is not UTF-8.
	ErrMalformed = errors.New("malformed body")

	// ErrInvalidName marks a body with an empty name. It is an [ErrMalformed] too.
	ErrInvalidName = fmt.Errorf("empty name: %w", ErrMalformed)

	// ErrFrame marks a frame header that cannot be followed: the peer and we no
	// longer agree where a frame begins, and the connection is lost.
	ErrFrame = errors.New("malformed frame header")
)

// RequestStatus is the status that a server answers to a request whose Parse
// function returned err: Iggy gives an empty name a status of its own.
func RequestStatus(err error) Status {
	switch {
	case err == nil:
		return StatusOK
	case errors.Is(err, ErrInvalidName):
		return StatusInvalidFormat
	default:
		return StatusInvalidCommand
	}
}
