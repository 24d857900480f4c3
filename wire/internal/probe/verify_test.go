// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/wire"
	"github.com/iggy-kafka/iggy-kafka/wire/internal/probe/probetest"
)

func testAbsent() Absent { return Absent{Name: "absent", ID: [16]byte{1, 2, 3}} }

// spoil changes the answers of one API from a version on.
func spoil(key, from int16, change func(answer []byte) []byte) func(*wire.Request, []byte) []byte {
	return func(req *wire.Request, answer []byte) []byte {
		if req.Header.Key != key || req.Header.Version < from {
			return answer
		}
		return change(answer)
	}
}

// resized puts the length of what is there before it.
func resized(answer []byte) []byte {
	binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
	return answer
}

// Each fault of a server fails the checks that it should and no others.
func TestVerify(t *testing.T) {
	const silent = "keeps silent"
	release, all := wire.NewTable(), wire.NewTable(wire.ServeAll())
	tests := []struct {
		name   string
		server probetest.Server
		table  bool
		want   string // want:API versions, of the failed checks
	}{
		{"this release", probetest.Server{Advertised: release}, true, ""},
		{"all", probetest.Server{Advertised: all}, false, ""},
		{"another's correlation id", probetest.Server{Advertised: release, Spoil: spoil(60, 1, func(answer []byte) []byte {
			answer[7]++
			return answer
		})}, true, "answered:DescribeCluster 1 2"},
		{"a byte too many", probetest.Server{Advertised: release, Spoil: spoil(3, 12, func(answer []byte) []byte {
			return resized(append(answer, 0))
		})}, true, "answered:Metadata 12 13"},
		{"a byte too few", probetest.Server{Advertised: release, Spoil: spoil(2, 10, func(answer []byte) []byte {
			return resized(answer[:len(answer)-1])
		})}, true, "answered:ListOffsets 10"},
		{"a flexible header before ApiVersions", probetest.Server{Advertised: release, Spoil: spoil(18, 3, func(answer []byte) []byte {
			return resized(append(answer[:8:8], append([]byte{0}, answer[8:]...)...))
		})}, true, "answered:ApiVersions 3 4; falls back:ApiVersions 5"},
		{"error 35", probetest.Server{Advertised: release, Spoil: spoil(60, 2, func(answer []byte) []byte {
			answer[14] = 35 // length, correlation id, tags, throttle time, then the code
			return answer
		})}, true, "answered:DescribeCluster 2"},
		{"error -1", probetest.Server{Advertised: release, Spoil: spoil(60, 2, func(answer []byte) []byte {
			answer[13], answer[14] = 0xff, 0xff
			return answer
		})}, true, "answered:DescribeCluster 2"},
		{"closes", probetest.Server{Advertised: release, Spoil: spoil(22, 4, func([]byte) []byte { return nil })}, true,
			"answered:InitProducerId 4 5"},
		{silent, probetest.Server{Advertised: release, Spoil: spoil(22, 5, func([]byte) []byte { return []byte{} })}, true,
			"answered:InitProducerId 5"},
		{"serves more than it advertises", probetest.Server{Advertised: release, Spoil: spoil(18, 0, func(answer []byte) []byte {
			return bytes.Replace(answer, []byte{0, 60, 0, 0, 0, 2}, []byte{0, 60, 0, 0, 0, 1}, 1)
		})}, true, "listed:DescribeCluster 2; refused:DescribeCluster 2"},
		{"advertises transactions", probetest.Server{Advertised: release, Spoil: spoil(18, 0, func(answer []byte) []byte {
			return bytes.Replace(answer, []byte{0, 60, 0, 0, 0, 2}, []byte{0, 26, 0, 0, 0, 2}, 1)
		})}, true, "listed:DescribeCluster 2; listed:EndTxn 2; refused:DescribeCluster 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if test.name == silent {
				timeout = 5 * time.Second
			}
			v := Verifier{Addr: test.server.Start(t), Timeout: timeout, Absent: testAbsent(), Table: test.table}
			checks, err := v.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, failures(checks)); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			if len(checks) < 100 {
				t.Errorf("only %d checks", len(checks))
			}
		})
	}
}

// failures lists the failed checks.
func failures(checks []Check) string {
	var lines []string
	last := ""
	for _, c := range checks {
		if c.Err == nil {
			continue
		}
		if what := fmt.Sprintf("%s:%s", c.Want, c.API); what != last {
			lines, last = append(lines, what), what
		}
		lines[len(lines)-1] += fmt.Sprint(" ", c.Version)
	}
	return strings.Join(lines, "; ")
}

// A server that cannot be asked what it speaks is an error, and so is the caller's end.
func TestVerifyNothing(t *testing.T) {
	broken := probetest.Server{Advertised: wire.NewTable(), Spoil: func(*wire.Request, []byte) []byte { return nil }}
	v := Verifier{Addr: broken.Start(t), Timeout: time.Minute, Absent: testAbsent()}
	if checks, err := v.Verify(t.Context()); err == nil {
		t.Errorf("%d checks", len(checks))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v.Addr = probetest.Server{Advertised: wire.NewTable()}.Start(t)
	if checks, err := v.Verify(ctx); err == nil {
		t.Errorf("cancelled: %d checks", len(checks))
	}
}

func TestWriteTable(t *testing.T) {
	var out strings.Builder
	failed, err := WriteTable(&out, []Check{
		{Key: 3, API: "Metadata", Version: 13, Want: Answered, Detail: "error codes [3]"},
		{Key: 24, API: "AddPartitionsToTxn", Version: 5, Want: Skipped, Detail: "unknown here"},
		{Key: 60, API: "DescribeCluster", Version: 1, Want: Listed, Detail: "0-1", Err: fmt.Errorf("not so")},
	})
	if err != nil || failed != 1 {
		t.Errorf("%d failed, %v", failed, err)
	}
	want := `KEY  API                 VERSION  WANT      RESULT  DETAIL
3    Metadata            13       answered  ok      error codes [3]
24   AddPartitionsToTxn  5        skipped   -       unknown here
60   DescribeCluster     1        listed    FAILED  0-1: not so
3 checks, 1 failed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
