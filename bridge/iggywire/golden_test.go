// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exchange is one line of testdata/transcript.jsonl: what a real Iggy 0.8.0
// server answered.
type exchange struct {
	Scenario string   `json:"scenario"`
	Step     string   `json:"step"`
	Code     Code     `json:"code"`
	Request  hexBytes `json:"request"`
	Status   Status   `json:"status"`
	Response hexBytes `json:"response"`
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

// recode parses a body and appends what came out of it.
type recode func(body []byte) ([]byte, error)

type appender interface{ AppendTo([]byte) []byte }

func one[T appender](parse func([]byte) (T, error)) recode {
	return func(b []byte) ([]byte, error) {
		v, err := parse(b)
		if err != nil {
			return nil, err
		}
		return v.AppendTo(nil), nil
	}
}

func optional[T appender](parse func([]byte) (T, bool, error)) recode {
	return func(b []byte) ([]byte, error) {
		v, found, err := parse(b)
		if err != nil || !found {
			return nil, err
		}
		return v.AppendTo(nil), nil
	}
}

func list[T appender](parse func([]byte) ([]T, error)) recode {
	return func(b []byte) ([]byte, error) {
		vs, err := parse(b)
		var out []byte
		for _, v := range vs {
			out = v.AppendTo(out)
		}
		return out, err
	}
}

func nothing(b []byte) ([]byte, error) { return nil, nil }

func recodeSend(b []byte) ([]byte, error) {
	req, status := ParseSend(b)
	if status == StatusOK {
		status = req.Validate()
	}
	if status != StatusOK {
		return nil, status
	}
	out := AppendSendHeader(nil, req.Stream, req.Topic, req.Partitioning, int(req.Count))
	out, _, err := AppendIndexes(out, req.Messages, 0)
	return append(out, req.Messages...), err
}

func recodePollResult(b []byte) ([]byte, error) {
	p, err := ParsePollResult(b)
	if err != nil {
		return nil, err
	}
	count := uint32(0)
	for rest := p.Messages; len(rest) > 0; count++ {
		if _, rest, err = NextMessage(rest); err != nil {
			return nil, err
		}
	}
	p.Count = count
	return append(p.AppendHeader(nil), p.Messages...), nil
}

// codecs is how the bodies of each command are read and written.
func codecs() map[Code]struct{ request, answer recode } {
	type pair = struct{ request, answer recode }
	return map[Code]pair{
		CodePing:               {nothing, nothing},
		CodeGetStats:           {nothing, one(ParseStats)},
		CodeGetClusterMetadata: {nothing, one(ParseClusterMetadata)},
		CodeGetMe:              {nothing, optional(ParseClientDetails)},
		CodeGetClient:          {one(ParseGetClient), optional(ParseClientDetails)},
		CodeGetClients:         {nothing, list(ParseClients)},
		CodeGetUser:            {one(ParseGetUser), optional(ParseUserDetails)},
		CodeGetUsers:           {nothing, list(ParseUsers)},
		CodeCreateUser:         {one(ParseCreateUser), optional(ParseUserDetails)},
		CodeDeleteUser:         {one(ParseDeleteUser), nothing},
		CodeUpdateUser:         {one(ParseUpdateUser), nothing},
		CodeUpdatePermissions:  {one(ParseUpdatePermissions), nothing},
		CodeChangePassword:     {one(ParseChangePassword), nothing},
		CodeLoginUser:          {one(ParseLoginUser), one(ParseIdentity)},
		CodeLogoutUser:         {nothing, nothing},
		CodeGetTokens:          {nothing, list(ParseTokens)},
		CodeCreateToken:        {one(ParseCreateToken), one(ParseRawToken)},
		CodeDeleteToken:        {one(ParseDeleteToken), nothing},
		CodeLoginWithToken:     {one(ParseLoginWithToken), one(ParseIdentity)},
		CodePollMessages:       {one(ParsePoll), recodePollResult},
		CodeSendMessages:       {recodeSend, nothing},
		CodeFlushUnsaved:       {one(ParseFlushUnsaved), nothing},
		CodeGetOffset:          {one(ParseGetOffset), optional(ParseConsumerOffset)},
		CodeStoreOffset:        {one(ParseStoreOffset), nothing},
		CodeDeleteOffset:       {one(ParseDeleteOffset), nothing},
		CodeGetStream:          {one(ParseGetStream), optional(ParseStreamDetails)},
		CodeGetStreams:         {nothing, list(ParseStreams)},
		CodeCreateStream:       {one(ParseCreateStream), optional(ParseStreamDetails)},
		CodeDeleteStream:       {one(ParseDeleteStream), nothing},
		CodeUpdateStream:       {one(ParseUpdateStream), nothing},
		CodePurgeStream:        {one(ParsePurgeStream), nothing},
		CodeGetTopic:           {one(ParseGetTopic), optional(ParseTopicDetails)},
		CodeGetTopics:          {one(ParseGetTopics), list(ParseTopics)},
		CodeCreateTopic:        {one(ParseCreateTopic), optional(ParseTopicDetails)},
		CodeDeleteTopic:        {one(ParseDeleteTopic), nothing},
		CodeUpdateTopic:        {one(ParseUpdateTopic), nothing},
		CodePurgeTopic:         {one(ParsePurgeTopic), nothing},
		CodeCreatePartitions:   {one(ParseCreatePartitions), nothing},
		CodeDeletePartitions:   {one(ParseDeletePartitions), nothing},
		CodeGetGroup:           {one(ParseGetGroup), optional(ParseGroupDetails)},
		CodeGetGroups:          {one(ParseGetGroups), list(ParseGroups)},
		CodeCreateGroup:        {one(ParseCreateGroup), optional(ParseGroupDetails)},
		CodeDeleteGroup:        {one(ParseDeleteGroup), nothing},
		CodeJoinGroup:          {one(ParseJoinGroup), nothing},
		CodeLeaveGroup:         {one(ParseLeaveGroup), nothing},
	}
}

// TestTranscript reads every body that the real server got or gave and writes it
// again: the bytes must be the same. Bodies of the malformed scenario that the
// server refused must be refused with its status.
func TestTranscript(t *testing.T) {
	codecs := codecs()
	for _, e := range readTranscript(t) {
		t.Run(e.Scenario+"/"+e.Step, func(t *testing.T) {
			codec, known := codecs[e.Code]
			if !known {
				if e.Status != StatusInvalidCommand {
					t.Fatalf("command %v is answered %v and has no codec", e.Code, e.Status)
				}
				return
			}
			got, err := codec.request(e.Request)
			switch {
			case e.Scenario == "malformed" && e.Status != StatusOK && e.Status != StatusUnauthenticated:
				status, isStatus := err.(Status)
				if !isStatus {
					status = RequestStatus(err)
				}
				if status != e.Status {
					t.Errorf("request gives status %v, the server says %v", status, e.Status)
				}
				return
			case err != nil:
				t.Fatalf("request: %v", err)
			}
			want := []byte(e.Request)
			if len(got) == 0 && e.Code == CodePing {
				want = nil // a body that the server does not look at
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(sameBytes)); diff != "" {
				t.Errorf("request (-sent +written):\n%s", diff)
			}
			if e.Status != StatusOK {
				return
			}
			got, err = codec.answer(e.Response)
			if err != nil {
				t.Fatalf("answer: %v", err)
			}
			if diff := cmp.Diff([]byte(e.Response), got, cmp.Comparer(sameBytes)); diff != "" {
				t.Errorf("answer (-received +written):\n%s", diff)
			}
		})
	}
}

func sameBytes(a, b []byte) bool { return string(a) == string(b) }
