// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	holdCommand = "hold" // the argument with which the program runs itself
	heldAnswer  = "held\n"

	exchangeTimeout = 30 * time.Second
	maxAnswer       = 1 << 20
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

// exchange writes a request and returns its answer, behind the correlation id.
func exchange(conn net.Conn, request kmsg.Request) ([]byte, error) {
	const correlation = 1
	if err := conn.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, request, correlation)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if got := binary.BigEndian.Uint32(head[4:]); got != correlation || size < 4 || size > maxAnswer {
		return nil, fmt.Errorf("bench: an answer of %d bytes to request %d", size, got)
	}
	body := make([]byte, size-4)
	_, err := io.ReadFull(conn, body)
	return body, err
}
