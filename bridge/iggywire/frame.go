// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the size in bytes of a request's header and of an answer's.
const HeaderSize = 8

// MaxControlBody is the longest body in bytes that the server reads of a request
// other than a send; it answers a longer one with [StatusInvalidCommand].
const MaxControlBody = 10 << 20

// codeSize is the part of a request's length that counts its code.
const codeSize = 4

// AppendRequestHeader appends the header of a request with a body of bodyLen bytes.
func AppendRequestHeader(dst []byte, code Code, bodyLen int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(codeSize+bodyLen))
	return binary.LittleEndian.AppendUint32(dst, uint32(code))
}

// ParseRequestHeader reads a request's header from the first [HeaderSize] bytes
// of b. A length that does not even count the code is an error wrapping
// [ErrFrame]; the real server answers it with [StatusInvalidCommand] once all of
// the header came, and goes on behind the header.
func ParseRequestHeader(b []byte) (code Code, bodyLen int, err error) {
	if len(b) < HeaderSize {
		return 0, 0, fmt.Errorf("iggywire: request header of %d bytes: %w", len(b), ErrFrame)
	}
	length := binary.LittleEndian.Uint32(b)
	if length < codeSize {
		return 0, 0, fmt.Errorf("iggywire: request length %d: %w", length, ErrFrame)
	}
	return Code(binary.LittleEndian.Uint32(b[4:])), int(length - codeSize), nil
}

// AppendResponseHeader appends the header of an answer with a body of bodyLen bytes.
func AppendResponseHeader(dst []byte, status Status, bodyLen int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(status))
	return binary.LittleEndian.AppendUint32(dst, uint32(bodyLen))
}

// ParseResponseHeader reads an answer's header from the first [HeaderSize] bytes
// of b. The caller bounds bodyLen before it allocates. A failed answer that
// announces a body is an error wrapping [ErrFrame]: Iggy sends none.
func ParseResponseHeader(b []byte) (status Status, bodyLen int, err error) {
	if len(b) < HeaderSize {
		return 0, 0, fmt.Errorf("iggywire: answer header of %d bytes: %w", len(b), ErrFrame)
	}
	status = Status(binary.LittleEndian.Uint32(b))
	length := binary.LittleEndian.Uint32(b[4:])
	if status != StatusOK && length != 0 {
		return 0, 0, fmt.Errorf("iggywire: answer with status %v and %d bytes: %w", status, length, ErrFrame)
	}
	return status, int(length), nil
}
