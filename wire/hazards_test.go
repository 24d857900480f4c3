// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	stdbytes "bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// These tests are for faults that other servers and proxies of this protocol had: each plays what a client saw.

// serve answers the ApiVersions requests of a stream as a server does, and returns the answers and why it ended.
func serve(table *Table, stream []byte) (answers []byte, err error) {
	r := bufio.NewReader(stdbytes.NewReader(stream))
	var pool Pool
	for {
		p, err := table.ReadPreamble(r, testLimits())
		if err != nil {
			return answers, err
		}
		frame, err := p.ReadFrame(r, &pool)
		if err != nil {
			return answers, err
		}
		req, err := table.Decode(frame.B)
		if err != nil {
			return answers, err
		}
		ask, ok := req.Body.(*kmsg.ApiVersionsRequest)
		if !ok {
			return answers, errors.New("not ApiVersions")
		}
		answers = AppendResponse(answers, req.Header.CorrelationID, table.ApiVersions(ask))
		frame.Release()
	}
}

// asked is an ApiVersions request as a client sends it.
func asked(version int16, correlationID int32) []byte {
	return kmsg.NewRequestFormatter().AppendRequest(nil, apiVersions(version, "client", "1.0"), correlationID)
}

// A client that is newer than the server sends what nobody here can parse. The answer is readable by all, and the same
// connection then works: the junk was neither parsed nor left in the stream.
func TestApiVersionsNewerThanOurs(t *testing.T) {
	table := NewTable()
	for _, junk := range []string{"", "\xff\xff\xff", "\x7f\xff\xff\xff\xff\xff\x00\x12\x00\x03"} {
		newer := framed(append([]byte{0, 18, 0, 127, 0, 0, 0, 9}, junk...))
		answers, err := serve(table, append(newer, asked(3, 10)...))
		if err != io.EOF {
			t.Fatalf("junk %q: %v", junk, err)
		}
		want := "\x00\x00\x00\x10" + "\x00\x00\x00\x09" + "\x00\x23" + "\x00\x00\x00\x01" + "\x00\x12\x00\x00\x00\x04"
		fallback, next := answers[:20], answers[20:]
		if string(fallback) != want {
			t.Errorf("junk %q: the fallback is %x", junk, fallback)
		}
		if id := binary.BigEndian.Uint32(next[4:]); id != 10 {
			t.Errorf("junk %q: then an answer to %d", junk, id)
		}
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.Version = 3
		if err := resp.ReadFrom(next[8:]); err != nil || resp.ErrorCode != 0 || len(resp.ApiKeys) < 10 {
			t.Errorf("junk %q: then %+v, %v", junk, resp, err)
		}
	}
}

// The answer to ApiVersions has header v0 in flexible versions too: right behind the correlation id comes the error
// code, no count of tagged fields. Both ways to write an answer keep to it.
func TestResponseHeaderOfApiVersions(t *testing.T) {
	table := NewTable()
	api, _ := table.Lookup(apiVersionsKey)
	for v := api.Min; v <= api.Max; v++ {
		req := apiVersions(v, "bad name", "1.0") // error 42 from v3 on
		want := uint16(0)
		if v >= 3 {
			want = invalidRequest
		}
		answer := AppendResponse(nil, 7, table.ApiVersions(req))
		if got := binary.BigEndian.Uint16(answer[8:]); got != want {
			t.Errorf("v%d: after the correlation id comes %d", v, got)
		}
		decoded, err := table.Decode(frameOf(req))
		if err != nil {
			t.Fatal(err)
		}
		if got := decoded.AppendResponsePrefix(nil, 0); len(got) != 8 {
			t.Errorf("v%d: prefix %x", v, got)
		}
	}
}

// librdkafka before 2.11.1 takes compression and other features to be missing unless old versions of Produce and
// JoinGroup are in the range (KAFKA-18659). Advertised is not served: such a Produce is refused.
func TestAdvertiseProduceFromZero(t *testing.T) {
	table := NewTable(ServeAll())
	lowest := map[int16]int16{}
	for _, row := range table.ApiVersions(apiVersions(0, "", "")).ApiKeys {
		lowest[row.ApiKey] = row.MinVersion
	}
	for _, key := range []int16{0, 11} {
		if v, listed := lowest[key]; !listed || v != 0 {
			t.Errorf("%s is advertised from %d", kmsg.NameForKey(key), v)
		}
	}
	for v := range int16(3) {
		produce := framed(append(binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(v)), make([]byte, 20)...))
		if _, err := serve(table, produce); !errors.Is(err, ErrUnsupportedVersion) {
			t.Errorf("Produce v%d: %v", v, err)
		}
	}
}

// What is advertised is decoded, but for Produce below 3; what is not advertised never is, but for ApiVersions above
// the highest, and for what is hidden.
func TestAdvertisedButNotServed(t *testing.T) {
	for name, table := range map[string]*Table{"this release": NewTable(), "all": NewTable(ServeAll())} {
		type pair struct{ key, version int16 }
		advertised := map[pair]bool{}
		for _, row := range table.ApiVersions(apiVersions(0, "", "")).ApiKeys {
			for v := row.MinVersion; v <= row.MaxVersion; v++ {
				advertised[pair{row.ApiKey, v}] = true
			}
		}
		for _, api := range table.APIs() {
			for v := api.Min; api.Served && api.Hidden && v <= api.Max; v++ {
				advertised[pair{api.Key, v}] = true
			}
		}
		for key := int16(-1); key <= 100; key++ {
			for version := int16(-1); version <= 30; version++ {
				want := advertised[pair{key, version}]
				switch {
				case key == 0 && version >= 0 && version < 3:
					want = false
				case key == apiVersionsKey && version > 4:
					want = true
				}
				frame := []byte{byte(key >> 8), byte(key), byte(version >> 8), byte(version), 0, 0, 0, 1}
				if _, lay, err := table.admit(key, version); err == nil && lay != nil {
					frame = append(header(key, version, lay), encode(nil, lay.fields, 0, 0)...)
				}
				if _, err := table.Decode(frame); (err == nil) != want {
					t.Errorf("%s: key %d version %d: %v", name, key, version, err)
				}
			}
		}
	}
}

// Keys that this server does not know, some of them other vendors', are refused before anything of them is read or
// decoded; the table serves on.
func TestUnknownOrVendorKeys(t *testing.T) {
	table := NewTable(ServeAll())
	for _, key := range []int16{84, 501, 10001, 32767, -1, -32768, 4, 7, 24, 25, 26, 28, 51, 55, 71, 76, 88} {
		for _, version := range []int16{0, 1, -1, 32767} {
			head := binary.BigEndian.AppendUint16(nil, uint16(key))
			head = binary.BigEndian.AppendUint16(head, uint16(version))
			for _, body := range []int{4, 6, 100} {
				frame := append(head[:4:4], make([]byte, body)...)
				if _, err := table.Decode(frame); !errors.Is(err, ErrUnknownAPI) {
					t.Errorf("key %d version %d: %v", key, version, err)
				}
				answers, err := serve(table, append(framed(frame), asked(3, 1)...))
				if !errors.Is(err, ErrUnknownAPI) || len(answers) > 0 {
					t.Errorf("key %d version %d: %x, %v", key, version, answers, err)
				}
			}
		}
	}
	if _, err := serve(table, asked(3, 1)); err != io.EOF {
		t.Errorf("afterwards: %v", err)
	}
}

// A buffer does not outlive the request that it was for: one that a cut frame or a large answer has used goes back, or
// to the garbage collector if it is too large to keep, so stalled connections keep no more than they use.
func TestBuffersAreNotKept(t *testing.T) {
	var pool Pool
	large := pool.Get(1<<maxClass + 1)
	large.Release()
	if b := pool.Get(1 << maxClass); cap(b.B) != 1<<maxClass {
		t.Errorf("a buffer of %d bytes was kept", cap(b.B))
	}
	p := Preamble{Size: 600}
	if frame, err := p.ReadFrame(stdbytes.NewReader(make([]byte, 599)), &pool); frame != nil || err != io.ErrUnexpectedEOF {
		t.Errorf("a cut frame: %v, %v", frame, err)
	}
}
