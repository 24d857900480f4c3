// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// exchange is one line of testdata/transcript.jsonl: what a real Iggy 0.8.0
// server answered. A request that it never answered has no line.
type exchange struct {
	Scenario string          `json:"scenario"`
	Step     string          `json:"step"`
	Conn     int             `json:"conn"`
	Code     iggywire.Code   `json:"code"`
	Request  hexBytes        `json:"request"`
	Status   iggywire.Status `json:"status"`
	Response hexBytes        `json:"response"`
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	*h = b
	return err
}

func readTranscript(tb testing.TB) []exchange {
	tb.Helper()
	f, err := os.Open("testdata/transcript.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []exchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestTranscript replays what a real server was asked and compares the answers,
// times, checksums, random ids and process figures aside.
func TestTranscript(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) { replay(t, startServer(t, cfg)) })
	}
}

func replay(t *testing.T, s *Server) {
	conns := make(map[int]net.Conn)
	var realToken, ourToken []byte // the request that logs in with the token created last
	for _, e := range readTranscript(t) {
		conn := conns[e.Conn]
		if conn == nil {
			conn = dial(t, s)
			conns[e.Conn] = conn
		}
		t.Run(e.Scenario+"/"+e.Step, func(t *testing.T) {
			switch e.Step {
			case "send header value 300":
				// The transcript leaves out the send before this one: 10 MB.
				large := sendBody(t, "kafka", "orders", message(13, strings.Repeat("x", 10_000_001)))
				if status, _ := roundTrip(t, conn, iggywire.CodeSendMessages, large); status != iggywire.StatusOK {
					t.Fatalf("large send: %v", status)
				}
			case "poll timestamp future":
				e.Request = futurePoll(t, e.Request) // what was future then is not now
			}
			if e.Code == iggywire.CodeLoginWithToken && bytes.Equal(e.Request, realToken) {
				e.Request = ourToken
			}
			status, body := roundTrip(t, conn, e.Code, e.Request)
			if e.Code == iggywire.CodeCreateToken && status == iggywire.StatusOK {
				realToken, ourToken = e.Response, body
			}
			if status != e.Status {
				t.Fatalf("status %v, the real server says %v", status, e.Status)
			}
			if diff := cmp.Diff(masked(t, e.Code, e.Response), masked(t, e.Code, body), cmp.AllowUnexported(iggywire.Identifier{})); diff != "" {
				t.Errorf("answer (-real +embedded):\n%s", diff)
			}
		})
	}
}

// masked parses an answer and takes out what differs from run to run.
func masked(t *testing.T, code iggywire.Code, body []byte) any {
	t.Helper()
	if len(body) == 0 {
		return nil
	}
	var (
		v   any
		err error
	)
	switch code {
	case iggywire.CodeGetClusterMetadata:
		var c iggywire.ClusterMetadata
		c, err = iggywire.ParseClusterMetadata(body)
		for i := range c.Nodes {
			c.Nodes[i].TCP, c.Nodes[i].QUIC, c.Nodes[i].HTTP, c.Nodes[i].WebSocket = 0, 0, 0, 0
		}
		v = c
	case iggywire.CodeGetStreams:
		var list []iggywire.Stream
		list, err = iggywire.ParseStreams(body)
		for i := range list {
			list[i].CreatedAt = 0
		}
		v = list
	case iggywire.CodeGetStream, iggywire.CodeCreateStream:
		var d iggywire.StreamDetails
		d, _, err = iggywire.ParseStreamDetails(body)
		d.CreatedAt = 0
		for i := range d.TopicList {
			d.TopicList[i].CreatedAt = 0
		}
		v = d
	case iggywire.CodeGetTopics:
		var list []iggywire.Topic
		list, err = iggywire.ParseTopics(body)
		for i := range list {
			list[i].CreatedAt = 0
		}
		v = list
	case iggywire.CodeGetTopic, iggywire.CodeCreateTopic:
		var d iggywire.TopicDetails
		d, _, err = iggywire.ParseTopicDetails(body)
		d.CreatedAt = 0
		for i := range d.PartitionList {
			d.PartitionList[i].CreatedAt = 0
		}
		v = d
	case iggywire.CodePollMessages:
		v, err = maskedPoll(body)
	case iggywire.CodeGetUsers:
		var list []iggywire.User
		list, err = iggywire.ParseUsers(body)
		for i := range list {
			list[i].CreatedAt = 0
		}
		v = list
	case iggywire.CodeGetUser, iggywire.CodeCreateUser:
		var d iggywire.UserDetails
		d, _, err = iggywire.ParseUserDetails(body)
		d.CreatedAt = 0
		v = d
	case iggywire.CodeCreateToken:
		var raw iggywire.RawToken
		raw, err = iggywire.ParseRawToken(body)
		v = len(raw.Token)
	case iggywire.CodeGetClients:
		var list []iggywire.Client
		list, err = iggywire.ParseClients(body)
		v = len(list) > 0
	case iggywire.CodeGetStats:
		var st iggywire.Stats
		st, err = iggywire.ParseStats(body)
		v = iggywire.Stats{ // the rest is about the process and the machine
			MessagesSize: st.MessagesSize, Messages: st.Messages,
			Streams: st.Streams, Topics: st.Topics, Partitions: st.Partitions, Segments: st.Segments, Groups: st.Groups,
			ServerVersion: st.ServerVersion, ServerSemver: st.ServerSemver,
		}
	default:
		v = body
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func futurePoll(t *testing.T, body []byte) []byte {
	t.Helper()
	poll, err := iggywire.ParsePoll(body)
	if err != nil {
		t.Fatal(err)
	}
	poll.Value = uint64(time.Now().Add(time.Hour).UnixMicro())
	return poll.AppendTo(nil)
}

// polled is a poll's answer without what the server makes up.
type polled struct {
	Partition     uint32
	CurrentOffset uint64
	Count         uint32
	Offsets       []uint64
	Sent          [][]byte // messages as they were sent: no checksum, id (unless sent), offset, time
}

func maskedPoll(body []byte) (polled, error) {
	r, err := iggywire.ParsePollResult(body)
	v := polled{Partition: r.Partition, CurrentOffset: r.CurrentOffset, Count: r.Count}
	for rest := r.Messages; err == nil && len(rest) > 0; {
		var msg []byte
		if msg, rest, err = iggywire.NextMessage(rest); err != nil {
			break
		}
		v.Offsets = append(v.Offsets, iggywire.MessageOffset(msg))
		sent := append([]byte(nil), msg...)
		iggywire.Stamp(sent, 0, 0, func([]byte) uint64 { return 0 })
		if string(msg[64:]) == "noid" {
			iggywire.SetMessageID(sent, [16]byte{})
		}
		v.Sent = append(v.Sent, sent)
	}
	return v, err
}

// TestUnanswered sends what the real server never answers: it waits for bytes
// that do not come.
func TestUnanswered(t *testing.T) {
	s := startServer(t, Config{InMemory: true})
	send := iggywire.AppendSendHeader(nil, iggywire.NamedID("kafka"), iggywire.NamedID("orders"), iggywire.ToPartition(0), 1)
	for name, frame := range map[string][]byte{
		"length 0":            {0, 0, 0, 0},
		"length 3":            {3, 0, 0, 0, 1, 0, 0},
		"send without a body": iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, 0),
		"send without messages": append(
			iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(send)), send...),
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, s)
			login(t, conn)
			if _, err := conn.Write(frame); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			var b [1]byte
			if _, err := conn.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("read gives %v, want no answer", err)
			}
		})
	}
}

// TestUnauthenticatedSend checks that the connection is out of step afterwards.
func TestUnauthenticatedSend(t *testing.T) {
	conn := dial(t, startServer(t, Config{InMemory: true}))
	body := sendBody(t, "kafka", "orders", message(1, "x"))
	if status, _ := roundTrip(t, conn, iggywire.CodeSendMessages, body); status != iggywire.StatusUnauthenticated {
		t.Fatalf("send: %v", status)
	}
	if status, _ := roundTrip(t, conn, iggywire.CodePing, nil); status != iggywire.StatusInvalidCommand {
		t.Errorf("ping afterwards: %v", status)
	}
}
