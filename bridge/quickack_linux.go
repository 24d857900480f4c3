// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net"
	"syscall"
)

// quickAckReader asks the kernel to acknowledge at once before it reads. An Iggy server leaves Nagle's algorithm
// on: with two requests in flight its second small answer would wait for our delayed acknowledgement, 40 ms. The
// option does not stick, so it is set again before each read.
type quickAckReader struct {
	net.Conn
	raw syscall.RawConn
	set func(fd uintptr)
}

func newQuickAckReader(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	return &quickAckReader{Conn: c, raw: raw, set: func(fd uintptr) {
		// A kernel that refuses costs latency, not correctness.
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	}}
}

func (q *quickAckReader) Read(b []byte) (int, error) {
	_ = q.raw.Control(q.set)
	return q.Conn.Read(b)
}
