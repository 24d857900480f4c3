// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	apiVersionsKey     = 18
	unsupportedVersion = 35 // UNSUPPORTED_VERSION
	correlationIDSize  = 4
)

// ErrBadAnswer: an answer's bytes do not follow the layout of its API and version to the last one.
var ErrBadAnswer = errors.New("bad answer")

// Answer is a decoded answer.
type Answer struct {
	CorrelationID int32
	Body          kmsg.Response
}

// DecodeAnswer decodes a frame, given without its length, that answers a request of a key and version. ApiVersions may
// be answered in version 0 instead, with error 35 (KIP-511). The error wraps ErrBadAnswer.
func DecodeAnswer(key, version int16, frame []byte) (Answer, error) {
	resp := kmsg.ResponseForKey(key)
	if resp == nil {
		return Answer{}, fmt.Errorf("probe: %w: no answer is known of key %d", ErrBadAnswer, key)
	}
	resp.SetVersion(version)
	if len(frame) < correlationIDSize {
		return Answer{}, fmt.Errorf("probe: %w: %d bytes", ErrBadAnswer, len(frame))
	}
	answer := Answer{CorrelationID: int32(binary.BigEndian.Uint32(frame)), Body: resp}
	body := frame[correlationIDSize:]
	switch {
	case key == apiVersionsKey: // header v0 always
		if len(body) >= 2 && binary.BigEndian.Uint16(body) == unsupportedVersion {
			resp.SetVersion(0)
		}
	case resp.IsFlexible():
		var err error
		if body, err = skipTags(body); err != nil {
			return answer, err
		}
	}
	if err := resp.ReadFrom(body); err != nil {
		return answer, fmt.Errorf("probe: %w: %w", ErrBadAnswer, err)
	}
	// kmsg takes bytes that are left over. It reads front to back, so it has needed the last one only if it fails
	// without it.
	if len(body) > 0 {
		again := kmsg.ResponseForKey(key)
		again.SetVersion(resp.GetVersion())
		if again.ReadFrom(body[:len(body)-1]) == nil {
			return answer, fmt.Errorf("probe: %w: bytes are left over", ErrBadAnswer)
		}
	}
	return answer, nil
}

// skipTags returns what follows the response header's tagged fields, of which no server sends any so far.
func skipTags(b []byte) ([]byte, error) {
	fail := fmt.Errorf("probe: %w: tagged fields of the header", ErrBadAnswer)
	uvarint := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	n, ok := uvarint()
	for ; ok && n > 0; n-- {
		if _, ok = uvarint(); !ok {
			break
		}
		var size uint64
		if size, ok = uvarint(); !ok || size > uint64(len(b)) {
			return nil, fail
		}
		b = b[size:]
	}
	if !ok {
		return nil, fail
	}
	return b, nil
}
