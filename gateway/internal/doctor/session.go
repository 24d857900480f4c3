// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	clientID = "iggy-kafka-doctor"
	// maxAnswer is the largest answer read, in bytes; those asked for here name no topics.
	maxAnswer = 16 << 20
	// unsupportedVersion is what ApiVersions of a version that is too new is answered, in version 0's form.
	unsupportedVersion = 35
)

var errUnserved = errors.New("doctor: the server does not serve it")

// notKafka is the error of an answer that is none of Kafka's.
type notKafka struct{ head []byte }

func (e *notKafka) Error() string {
	return fmt.Sprintf("no answer of Kafka's: it begins with % x", e.head)
}

// session speaks Kafka on one connection, a request at a time.
type session struct {
	conn    net.Conn
	version string // of the doctor
	served  map[int16][2]int16
	last    int32
}

// greet asks which APIs are served in which versions, in the words of KIP-511, or in older ones if these are too new.
func (s *session) greet(ctx context.Context) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, clientID, softwareVersion(s.version)
	answer, err := s.exchange(ctx, req)
	if err != nil {
		return err
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	if resp.Version = req.Version; len(answer) >= 2 && binary.BigEndian.Uint16(answer) == unsupportedVersion {
		req.Version, resp.Version = 0, 0
		if answer, err = s.exchange(ctx, req); err != nil {
			return err
		}
	}
	if err := resp.ReadFrom(answer); err != nil || resp.ErrorCode != 0 || len(resp.ApiKeys) == 0 {
		return &notKafka{answer[:min(len(answer), 16)]}
	}
	s.served = make(map[int16][2]int16, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		s.served[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	return nil
}

// softwareVersion is a version in the form that KIP-511 allows: letters, digits, and dots and dashes between them.
func softwareVersion(version string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '.':
			return r
		}
		return '-'
	}, version)
	return cmp.Or(strings.Trim(plain, ".-"), "unknown")
}

// serves says whether an API is served in some version from least on.
func (s *session) serves(key kmsg.Key, least int16) bool {
	versions, found := s.served[key.Int16()]
	return found && versions[1] >= least
}

// ask sends a request in the newest version that both know, and reads its answer into resp. A version that req has is the
// newest to be used.
func (s *session) ask(ctx context.Context, req kmsg.Request, newest int16, resp kmsg.Response) error {
	versions, found := s.served[req.Key()]
	version := min(newest, req.MaxVersion(), versions[1])
	if !found || version < versions[0] {
		return fmt.Errorf("%w: %s", errUnserved, kmsg.NameForKey(req.Key()))
	}
	req.SetVersion(version)
	resp.SetVersion(version)
	answer, err := s.exchange(ctx, req)
	if err != nil {
		return err
	}
	if resp.IsFlexible() {
		if len(answer) == 0 || answer[0] != 0 { // the header's tags, of which Kafka has none
			return &notKafka{answer[:min(len(answer), 16)]}
		}
		answer = answer[1:]
	}
	if err := resp.ReadFrom(answer); err != nil {
		return fmt.Errorf("doctor: answer to %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	return nil
}

// exchange sends a request and returns its answer from behind the correlation id.
func (s *session) exchange(ctx context.Context, req kmsg.Request) ([]byte, error) {
	s.last++
	deadline, _ := ctx.Deadline()
	if err := s.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { s.conn.SetDeadline(time.Unix(1, 0)) })()
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, s.last)
	_, err := s.conn.Write(frame)
	clear(frame) // a password may be in it
	if err != nil {
		return nil, err
	}
	var head [8]byte
	if n, err := io.ReadFull(s.conn, head[:]); err != nil {
		if n > 0 {
			return nil, &notKafka{head[:n]}
		}
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:4]))) - 4
	if size < 0 || size > maxAnswer || int32(binary.BigEndian.Uint32(head[4:])) != s.last {
		return nil, &notKafka{head[:]}
	}
	var answer bytes.Buffer
	if _, err := io.CopyN(&answer, s.conn, size); err != nil {
		return nil, err
	}
	return answer.Bytes(), nil
}
