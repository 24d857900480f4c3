// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// IggySendMessages is the code of Iggy's command that writes.
const IggySendMessages = 101

// StartIggyProxy starts a proxy between a gateway and its Iggy server: keys are the codes of commands.
func StartIggyProxy(server string, fate func(code int16, n int) Fate) (*Proxy, error) {
	return start(server, iggyFrames{}, fate)
}

// iggyFrames is Iggy's binary protocol: length, code and payload of a command; status, length and payload of its answer. All
// numbers are little-endian.
type iggyFrames struct{}

func (iggyFrames) request(from io.Reader) (frame []byte, code, version int16, err error) {
	frame, err = readSized(from, 4, binary.LittleEndian.Uint32)
	if err != nil {
		return nil, 0, 0, err
	}
	if len(frame) < 8 {
		return nil, 0, 0, errors.New("clients: a command without a code")
	}
	return frame, int16(binary.LittleEndian.Uint32(frame[4:])), 0, nil
}

func (iggyFrames) answer(from io.Reader, _, _ int16, _ *net.TCPAddr) ([]byte, error) {
	return readSized(from, 8, func(header []byte) uint32 { return binary.LittleEndian.Uint32(header[4:]) })
}
