// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

var rewriteFrames = flag.Bool("rewrite-frames", false, "record the requests of all clients to a Kafka broker for the tests of wire")

// framesFolder holds what real clients sent: wire decodes it, encodes it to the same bytes, and begins its fuzzing there.
const framesFolder = "../../wire/testdata/frames"

// frame is a line there: the first request of a client that had this key and version.
type frame struct {
	Client  string `json:"client"`
	Key     int16  `json:"key"`
	API     string `json:"api"`
	Version int16  `json:"version"`
	Req     string `json:"req"` // in hex, from its header on
}

// TestRewriteFrames records what each client sends to a broker of Kafka on its way through testApplication.
func TestRewriteFrames(t *testing.T) {
	if !*rewriteFrames {
		t.Skip("records only with -rewrite-frames")
	}
	kafka, err := harness.Kafka()
	if err != nil {
		t.Fatal(err)
	}
	target := start(t, kafka, nil)
	record := func(name string, client func(t *testing.T, addr string) clients.Application) {
		t.Run(name, func(t *testing.T) {
			seen := &frames{client: name, first: map[[2]int16]frame{}}
			tap, err := clients.StartTap(target.Kafka, seen.see)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := tap.Close(); err != nil {
					t.Error(err)
				}
			})
			a := &application{Application: client(t, tap.Addr()), t: t, addr: target.Kafka, topic: "recorded-" + name}
			a.run(true)
			seen.write(t, filepath.Join(framesFolder, "application-"+name+".jsonl"))
		})
	}
	for i, a := range clients.Applications("") {
		record(a.Name(), func(_ *testing.T, addr string) clients.Application { return clients.Applications(addr)[i] })
	}
	for _, program := range clients.Programs() {
		record(program.String(), func(t *testing.T, addr string) clients.Application {
			if err := prepareProgram(t, program); err != nil {
				t.Fatal(err)
			}
			process, err := program.Start(t.Context(), clientsFolder, addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := process.Close(); err != nil {
					t.Error(err)
				}
			})
			return process
		})
	}
}

// frames keeps the first request of each key and version.
type frames struct {
	client string

	mu    sync.Mutex
	first map[[2]int16]frame
}

func (f *frames) see(request []byte) {
	key, version := int16(binary.BigEndian.Uint16(request)), int16(binary.BigEndian.Uint16(request[2:]))
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, seen := f.first[[2]int16{key, version}]; !seen {
		f.first[[2]int16{key, version}] = frame{f.client, key, kmsg.NameForKey(key), version, hex.EncodeToString(request)}
	}
}

// write writes them by key and version.
func (f *frames) write(t *testing.T, path string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	sorted := slices.SortedFunc(maps.Values(f.first), func(a, b frame) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, line := range sorted {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
