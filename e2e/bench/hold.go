// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	holdCommand = "hold" // the argument with which the program runs itself
	heldAnswer  = "held\n"
)

// hold opens as many connections as each line of in says, in addition to those before, makes an exchange on all that
// are open, and says so. It ends with in.
func hold(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		more, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			return fmt.Errorf("bench: hold: %w", err)
		}
		for range more {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return fmt.Errorf("bench: connection %d: %w", len(held), err)
			}
			held = append(held, conn)
		}
		for i, conn := range held {
			for _, request := range opening() {
				if _, err := exchange(conn, request); err != nil {
					return fmt.Errorf("bench: connection %d: %w", i, err)
				}
			}
		}
		if _, err := io.WriteString(out, heldAnswer); err != nil {
			return err
		}
	}
	return nil
}

// opening is what clients ask on a new connection.
func opening() []kmsg.Request {
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "bench", "1"
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version, metadata.Topics = 12, []kmsg.MetadataRequestTopic{}
	return []kmsg.Request{versions, metadata}
}
