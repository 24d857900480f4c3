// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bridge

import "net"

// newQuickAckReader: only Linux lets a reader ask for immediate acknowledgements.
func newQuickAckReader(c net.Conn) net.Conn { return c }
