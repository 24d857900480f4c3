// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hexBytes is written in hex in the golden files.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// goldenMessage is a line of messages.jsonl: a body that Kafka's own Java classes have encoded.
type goldenMessage struct {
	Key     int16
	Name    string
	Version int16
	Kind    string // request or response
	Fill    string // full or sparse
	Header  int8
	Body    hexBytes
}

func (m goldenMessage) String() string {
	return fmt.Sprintf("%s_v%d_%s_%s", m.Name, m.Version, m.Kind, m.Fill)
}

// frame puts a request header before the body.
func (m goldenMessage) frame() []byte {
	var h []byte
	h = binary.BigEndian.AppendUint16(h, uint16(m.Key))
	h = binary.BigEndian.AppendUint16(h, uint16(m.Version))
	h = append(h, 0, 0, 0, 7) // correlation id
	h = append(h, 0, 2, 'm', 'e')
	if m.Header == 2 {
		h = append(h, 0)
	}
	return append(h, m.Body...)
}

// goldenFrame is a line of frames/*.jsonl: a request that a real client sent, from its header on.
type goldenFrame struct {
	Key     int16
	API     string
	Version int16
	Client  string
	Req     hexBytes
}

func readLines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line T
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, line)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func goldenMessages(t testing.TB) []goldenMessage {
	return readLines[goldenMessage](t, "testdata/messages.jsonl")
}

func goldenFrames(t testing.TB) []goldenFrame {
	t.Helper()
	paths, err := filepath.Glob("testdata/frames/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no frames: %v", err)
	}
	var out []goldenFrame
	for _, path := range paths {
		out = append(out, readLines[goldenFrame](t, path)...)
	}
	return out
}

// Every message of every version in the table decodes and encodes to the bytes that Kafka's classes wrote.
func TestGoldenMessages(t *testing.T) {
	table := NewTable(ServeAll())
	seen := map[string]bool{}
	for _, m := range goldenMessages(t) {
		api, known := table.Lookup(m.Key)
		if !known || m.Version < api.Min || m.Version > api.Max {
			continue
		}
		seen[fmt.Sprintf("%d/%d/%s", m.Key, m.Version, m.Kind)] = true
		t.Run(m.String(), func(t *testing.T) {
			var again []byte
			switch m.Kind {
			case "request":
				req, err := table.Decode(m.frame())
				if err != nil {
					t.Fatal(err)
				}
				again = req.Body.AppendTo([]byte{})
			case "response":
				resp := kmsg.ResponseForKey(m.Key)
				resp.SetVersion(m.Version)
				if err := resp.ReadFrom(m.Body); err != nil {
					t.Fatal(err)
				}
				frame := AppendResponse(nil, 7, resp)
				again = frame[8+int(m.Header):]
			}
			if diff := cmp.Diff(string(m.Body), string(again)); diff != "" {
				t.Errorf("encoded again (-golden +got):\n%s", diff)
			}
		})
	}
	absent := func(key int16, kind string) bool { // the file has none of a nullable struct
		return key == 68 && kind == "response" || key == 75
	}
	for _, api := range table.APIs() {
		for v := api.Min; v <= api.Max; v++ {
			for _, kind := range []string{"request", "response"} {
				if absent(api.Key, kind) {
					continue
				}
				if !seen[fmt.Sprintf("%d/%d/%s", api.Key, v, kind)] {
					t.Errorf("no golden %s for %s v%d", kind, api.Name, v)
				}
			}
		}
	}
}

// Every request that ten real clients sent to a real broker passes, if its version is served, and keeps its bytes.
func TestGoldenFrames(t *testing.T) {
	for name, table := range map[string]*Table{"served": NewTable(), "all": NewTable(ServeAll())} {
		passed := 0
		for _, f := range goldenFrames(t) {
			api, known := table.Lookup(f.Key)
			if !known || !api.Served || f.Version < api.Min || f.Version > api.Max {
				continue
			}
			in, err := table.Inspect(f.Req)
			if err != nil {
				t.Errorf("%s: %s: %v", name, f.Client, err)
				continue
			}
			req, err := in.Decode()
			if err != nil {
				t.Errorf("%s: %s: %v", name, f.Client, err)
				continue
			}
			if diff := cmp.Diff(in.body, req.Body.AppendTo([]byte{})); diff != "" {
				t.Errorf("%s: %s: %s v%d (-sent +encoded again):\n%s", name, f.Client, f.API, f.Version, diff)
			}
			passed++
		}
		if passed < 500 {
			t.Errorf("%s: only %d frames were tried", name, passed)
		}
	}
}
