// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// HungUp says whether the other side has ended the connection.
func HungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Alert is what the other side has said when it ended TLS; nil: that is not how it ended. crypto/tls has no other sign of it.
func Alert(err error) error {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "remote error" {
		return network.Err
	}
	return nil
}
