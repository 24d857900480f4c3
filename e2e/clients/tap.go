// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import "io"

// StartTap starts a proxy in front of a broker that shows each request to see: from its header on, without its length. See is
// called by several goroutines at a time and must not keep the frame.
func StartTap(broker string, see func(frame []byte)) (*Proxy, error) {
	return start(broker, tappedFrames{see: see}, func(int16, int) Fate { return Pass })
}

type tappedFrames struct {
	kafkaFrames
	see func([]byte)
}

func (f tappedFrames) request(from io.Reader) (frame []byte, key, version int16, err error) {
	if frame, key, version, err = f.kafkaFrames.request(from); err == nil {
		f.see(frame[4:])
	}
	return frame, key, version, err
}
