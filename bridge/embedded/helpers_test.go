// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func TestMain(m *testing.M) {
	if cfg := os.Getenv(crashVariable); cfg != "" {
		serveUntilKilled(cfg)
	}
	if os.Getenv(abandonVariable) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// The helpers below speak the protocol plainly: one request, one answer.

func startServer(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	s, err := Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func stores(tb testing.TB) map[string]Config {
	return map[string]Config{
		"memory": {InMemory: true},
		"pebble": {DataDir: tb.TempDir()},
	}
}

func dial(tb testing.TB, s *Server) net.Conn {
	tb.Helper()
	return dialAddr(tb, s.Addr().String())
}

func dialAddr(tb testing.TB, addr string) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

func roundTrip(tb testing.TB, conn net.Conn, code iggywire.Code, body []byte) (iggywire.Status, []byte) {
	tb.Helper()
	status, answer, err := request(conn, code, body)
	if err != nil {
		tb.Fatal(err)
	}
	return status, answer
}

func request(conn net.Conn, code iggywire.Code, body []byte) (iggywire.Status, []byte, error) {
	frame := append(iggywire.AppendRequestHeader(nil, code, len(body)), body...)
	if _, err := conn.Write(frame); err != nil {
		return 0, nil, err
	}
	return readAnswer(conn)
}

func readAnswer(r io.Reader) (iggywire.Status, []byte, error) {
	var header [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	status, length, err := iggywire.ParseResponseHeader(header[:])
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, length)
	_, err = io.ReadFull(r, body)
	return status, body, err
}

// do sends a request that must succeed.
func do(tb testing.TB, conn net.Conn, req iggywire.Request) []byte {
	tb.Helper()
	status, body := roundTrip(tb, conn, req.Code(), req.AppendTo(nil))
	if status != iggywire.StatusOK {
		tb.Fatalf("%v: %v", req.Code(), status)
	}
	return body
}

func login(tb testing.TB, conn net.Conn) {
	tb.Helper()
	do(tb, conn, iggywire.LoginUser{Username: "iggy", Password: "iggy"})
}

// message is a message in wire form with an id that begins with id.
func message(id uint64, payload string) []byte {
	msg := make([]byte, iggywire.MessageHeaderSize, iggywire.MessageHeaderSize+len(payload))
	binary.LittleEndian.PutUint64(msg[8:], id)
	binary.LittleEndian.PutUint32(msg[52:], uint32(len(payload)))
	return append(msg, payload...)
}

// sendBody is a send of messages to partition 0.
func sendBody(tb testing.TB, stream, topic string, messages ...[]byte) []byte {
	tb.Helper()
	return sendBodyTo(tb, 0, stream, topic, messages...)
}

// sendFrame is a request that sends messages to partition 0 of topic t in stream s.
func sendFrame(tb testing.TB, messages ...[]byte) []byte {
	tb.Helper()
	body := sendBody(tb, "s", "t", messages...)
	return append(iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(body)), body...)
}

func sendBodyTo(tb testing.TB, partition uint32, stream, topic string, messages ...[]byte) []byte {
	tb.Helper()
	body := iggywire.AppendSendHeader(nil, iggywire.NamedID(stream), iggywire.NamedID(topic), iggywire.ToPartition(partition), len(messages))
	var all []byte
	for _, m := range messages {
		all = append(all, m...)
	}
	body, _, err := iggywire.AppendIndexes(body, all, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return append(body, all...)
}

// partitionsOf describes the partitions of topic t in stream s.
func partitionsOf(tb testing.TB, conn net.Conn) []iggywire.Partition {
	tb.Helper()
	details, found, err := iggywire.ParseTopicDetails(do(tb, conn, iggywire.GetTopic{
		Stream: iggywire.NamedID("s"), Topic: iggywire.NamedID("t"),
	}))
	if err != nil || !found {
		tb.Fatal(found, err)
	}
	return details.PartitionList
}
