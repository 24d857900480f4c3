// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func apiVersions(version int16, name, software string) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, name, software
	return req
}

// The answers' bytes, from the correlation id (7) on: header v0 in every version (KIP-511), Produce from 0
// (KAFKA-18659), no features.
func TestApiVersionsBytes(t *testing.T) {
	rows := []string{ // key, lowest, highest
		"0000 0000 000d", // Produce
		"0001 0004 0012", // Fetch
		"0002 0001 000a", // ListOffsets
		"0003 0000 000d", // Metadata
		"0008 0002 0009", // OffsetCommit
		"0009 0001 0009", // OffsetFetch
		"000a 0000 0006", // FindCoordinator
		"000b 0000 0009", // JoinGroup
		"000c 0000 0004", // Heartbeat
		"000d 0000 0005", // LeaveGroup
		"000e 0000 0005", // SyncGroup
		"000f 0000 0006", // DescribeGroups
		"0010 0000 0005", // ListGroups
		"0012 0000 0004", // ApiVersions
		"0013 0002 0007", // CreateTopics
		"0014 0001 0006", // DeleteTopics
		"0015 0000 0002", // DeleteRecords
		"0016 0000 0005", // InitProducerId
		"0017 0002 0004", // OffsetForLeaderEpoch
		"0020 0001 0004", // DescribeConfigs
		"0021 0000 0002", // AlterConfigs
		"0023 0001 0004", // DescribeLogDirs
		"0025 0000 0003", // CreatePartitions
		"002a 0000 0002", // DeleteGroups
		"002b 0000 0002", // ElectLeaders
		"002c 0000 0001", // IncrementalAlterConfigs
		"002e 0000 0000", // ListPartitionReassignments
		"002f 0000 0000", // OffsetDelete
		"0030 0000 0001", // DescribeClientQuotas
		"0031 0000 0001", // AlterClientQuotas
		"0032 0000 0000", // DescribeUserScramCredentials
		"003c 0000 0002", // DescribeCluster
		"003d 0000 0000", // DescribeProducers
		"0041 0000 0000", // DescribeTransactions
		"0042 0000 0002", // ListTransactions
		"004a 0000 0001", // ListConfigResources
		"004b 0000 0000", // DescribeTopicPartitions
	}
	count := fmt.Sprintf("%08x", len(rows))
	flexible := fmt.Sprintf("%02x", len(rows)+1) + strings.Join(rows, "00") + "00" // a tag count ends each row
	tests := []struct {
		name string
		req  *kmsg.ApiVersionsRequest
		want string
	}{
		{"v0", apiVersions(0, "", ""), "00000007 0000" + count + strings.Join(rows, "")},
		{"v1", apiVersions(1, "", ""), "00000007 0000" + count + strings.Join(rows, "") + "00000000"},
		{"v2", apiVersions(2, "", ""), "00000007 0000" + count + strings.Join(rows, "") + "00000000"},
		{"v3", apiVersions(3, "kcat", "1.7"), "00000007 0000" + flexible + "00000000 00"},
		{"v4", apiVersions(4, "kcat", "1.7"), "00000007 0000" + flexible + "00000000 00"},
		{"above ours", apiVersions(5, "", ""), "00000007 0023 00000001 0012 0000 0004"},
		{"far above ours", apiVersions(32767, "", ""), "00000007 0023 00000001 0012 0000 0004"},
		{"no software name", apiVersions(3, "", "1.7"), "00000007 002a 01 00000000 00"},
		{"bad software version", apiVersions(4, "kcat", "1.0-"), "00000007 002a 01 00000000 00"},
	}
	table := NewTable()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frame := AppendResponse(nil, 7, table.ApiVersions(test.req))
			want := strings.ReplaceAll(test.want, " ", "")
			if got := hex.EncodeToString(frame[4:]); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestSoftwareName(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "Z": true, "9": true, "apache-kafka-java": true, "2.16.1-rdkafka-2.16.0": true, "a..b": true,
		"": false, "-": false, ".": false, "-a": false, "a-": false, "1.0-": false, ".1": false, "a b": false,
		"a_b": false, "a/b": false, "é": false, "a\x00b": false,
	} {
		if got := isSoftwareName(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// The software that real clients name passes.
func TestApiVersionsOfClients(t *testing.T) {
	table := NewTable()
	tried := 0
	for _, f := range goldenFrames(t) {
		if f.Key != apiVersionsKey {
			continue
		}
		req, err := table.Decode(f.Req)
		if err != nil {
			t.Errorf("%s: %v", f.Client, err)
			continue
		}
		if resp := table.ApiVersions(req.Body.(*kmsg.ApiVersionsRequest)); resp.ErrorCode != 0 && !req.AboveMax {
			t.Errorf("%s v%d: error %d", f.Client, f.Version, resp.ErrorCode)
		}
		tried++
	}
	if tried < 100 {
		t.Errorf("only %d requests were tried", tried)
	}
}
