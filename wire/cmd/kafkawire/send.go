// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire/internal/probe"
)

// answered is what send prints.
type answered struct {
	Key           int16         `json:"key"`
	Name          string        `json:"name"`
	Version       int16         `json:"version"` // the answer's
	CorrelationID int32         `json:"correlationId"`
	Response      kmsg.Response `json:"response"`
}

func send(ctx context.Context, std streams, args []string) error {
	set := flags(std, "send", "HOST:PORT")
	var pick selection
	set.StringVar(&pick.api, "api", "", "make a request of this API, by key or name; what it asks for is nonsense, and may be done")
	set.IntVar(&pick.version, "version", anyVersion, "the request's version")
	set.StringVar(&pick.fill, "fill", string(probe.Sparse), "full or sparse")
	hexFrame := set.String("hex", "", "send this frame instead, from its length on, as it is")
	file := set.String("file", "", "send this file's bytes instead, as they are; - is the standard input")
	timeout := set.Duration("timeout", 10*time.Second, "for connecting, and for the answer")
	if err := parse(set, args, 1); err != nil {
		return err
	}
	request, err := pick.bytes(*hexFrame, *file, std.in)
	if err != nil {
		return wrong(set, "%v", err)
	}
	conn, err := probe.Dial(ctx, set.Arg(0), *timeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	got, err := conn.Exchange(ctx, request)
	if err != nil {
		return err
	}
	if len(request) < 8 {
		return fmt.Errorf("answered %x to a frame without API and version", got)
	}
	key, version := int16(binary.BigEndian.Uint16(request[4:])), int16(binary.BigEndian.Uint16(request[6:]))
	answer, err := probe.DecodeAnswer(key, version, got)
	if err != nil {
		return fmt.Errorf("%w: %x", err, got)
	}
	out := json.NewEncoder(std.out)
	out.SetIndent("", "  ")
	return out.Encode(answered{key, kmsg.NameForKey(key), answer.Body.GetVersion(), answer.CorrelationID, answer.Body})
}

// bytes returns what is to be sent: from exactly one of three sources.
func (s selection) bytes(hexFrame, file string, stdin io.Reader) ([]byte, error) {
	given := 0
	for _, source := range []string{s.api, hexFrame, file} {
		if source != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, errors.New("one of -api, -hex and -file is needed")
	case hexFrame != "":
		return hex.DecodeString(strings.Join(strings.Fields(hexFrame), ""))
	case file == "-":
		return io.ReadAll(stdin)
	case file != "":
		return os.ReadFile(file)
	}
	requests, err := s.requests(1)
	if err != nil {
		return nil, err
	}
	if len(requests) != 1 {
		return nil, fmt.Errorf("-api needs -version and -fill: there are %d such requests", len(requests))
	}
	return requests[0].Frame, nil
}
