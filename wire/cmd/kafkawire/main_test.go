// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/wire"
	"github.com/iggy-kafka/iggy-kafka/wire/internal/probe/probetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// command runs kafkawire.
func command(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = run(t.Context(), streams{strings.NewReader(stdin), &out, &err}, args)
	return status, out.String(), err.String()
}

// golden compares a text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestGenerate(t *testing.T) {
	for name, args := range map[string][]string{
		"metadata.jsonl":     {"-api", "Metadata"},
		"produce-v9.jsonl":   {"-api", "0", "-version", "9"},
		"offset-fetch-9.hex": {"-api", "offsetfetch", "-version", "9", "-fill", "full", "-format", "hex", "-correlation-id", "-1"},
	} {
		status, out, stderr := command(t, "", append([]string{"generate"}, args...)...)
		if status != 0 {
			t.Errorf("%s: status %d\n%s", name, status, stderr)
		}
		golden(t, name, out)
	}
}

// All that is generated passes the firewall, and there is something for every version.
func TestGenerateAll(t *testing.T) {
	_, out, _ := command(t, "", "generate")
	table := wire.NewTable(wire.ServeAll())
	left := map[[2]int16]int{}
	for _, api := range table.APIs() {
		for v := api.Min; v <= api.Max; v++ {
			left[[2]int16{api.Key, v}] = 2
		}
	}
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		var g struct {
			Key, Version int16
			Name, Fill   string
			Frame        string
		}
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		frame, err := hex.DecodeString(g.Frame)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Decode(frame[4:]); err != nil {
			t.Errorf("%s v%d %s: %v", g.Name, g.Version, g.Fill, err)
		}
		left[[2]int16{g.Key, g.Version}]--
	}
	for id, n := range left {
		if n != 0 {
			t.Errorf("key %d version %d: %d too few", id[0], id[1], n)
		}
	}
}

func TestGenerateFiles(t *testing.T) {
	dir := t.TempDir()
	if status, out, stderr := command(t, "", "generate", "-dir", dir, "-api", "18", "-version", "4"); status != 0 || out != "" {
		t.Fatalf("status %d\n%s%s", status, out, stderr)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "18_ApiVersions_v4_full.bin"), filepath.Join(dir, "18_ApiVersions_v4_sparse.bin")}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	addr := probetest.Server{Advertised: wire.NewTable(wire.ServeAll())}.Start(t)
	if status, out, stderr := command(t, "", "send", "-file", want[0], addr); status != 0 || !strings.Contains(out, `"ApiVersions"`) {
		t.Errorf("sent: status %d\n%s%s", status, out, stderr)
	}
}

func TestSend(t *testing.T) {
	addr := probetest.Server{Advertised: wire.NewTable(wire.ServeAll())}.Start(t)
	const heartbeat = "00000015 000c 0004 00000009 ffff 00 0267 00000001 026d 00 00" // of member m, group g
	for name, args := range map[string][]string{
		"made": {"-api", "Heartbeat", "-version", "4"},
		"hex":  {"-hex", heartbeat},
	} {
		status, out, stderr := command(t, "", append(append([]string{"send"}, args...), addr)...)
		if status != 0 {
			t.Errorf("%s: status %d\n%s", name, status, stderr)
			continue
		}
		golden(t, "send-"+name+".json", out)
	}
	const aboveMax = "\x00\x00\x00\x0a" + "\x00\x12\x00\x63" + "\x00\x00\x00\x07" + "\xff\xff" // ApiVersions v99
	status, out, stderr := command(t, aboveMax, "send", "-file", "-", addr)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	golden(t, "send-above.json", out)
}

func TestVerify(t *testing.T) {
	sound := probetest.Server{Advertised: wire.NewTable()}.Start(t)
	status, out, stderr := command(t, "", "verify", "-table", sound)
	if status != 0 || stderr != "" || !strings.HasSuffix(out, " 0 failed\n") {
		t.Errorf("sound: status %d\n%s%s", status, out, stderr)
	}
	broken := probetest.Server{Advertised: wire.NewTable(), Spoil: func(req *wire.Request, answer []byte) []byte {
		if req.Header.Key == 3 {
			return nil
		}
		return answer
	}}.Start(t)
	status, out, stderr = command(t, "", "verify", broken)
	if status != 1 || !strings.HasSuffix(out, " 14 failed\n") || !strings.Contains(stderr, "fails 14 of") {
		t.Errorf("broken: status %d\n%s%s", status, out, stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args   string
		status int
		stderr string
	}{
		{"", 2, "usage:"},
		{"explode", 2, "usage:"},
		{"generate -h", 0, "-format"},
		{"generate extra", 2, "usage: kafkawire generate"},
		{"generate -nonsense", 2, "not defined"},
		{"generate -api Nothing", 2, `no API "Nothing"`},
		{"generate -api 3 -version 99", 2, "no request"},
		{"generate -fill half", 2, "no request"},
		{"generate -format xml", 2, "xml"},
		{"send", 2, "usage: kafkawire send"},
		{"send 127.0.0.1:1", 2, "one of -api, -hex and -file"},
		{"send -api 3 -hex 00 127.0.0.1:1", 2, "one of -api, -hex and -file"},
		{"send -api 3 127.0.0.1:1", 2, "there are 14"},
		{"send -hex xy 127.0.0.1:1", 2, "invalid byte"},
		{"send -file /does/not/exist 127.0.0.1:1", 2, "no such file"},
		{"verify", 2, "usage: kafkawire verify"},
		{"verify -timeout 1s 127.0.0.1:1", 1, "refused"},
	} {
		status, _, stderr := command(t, "", strings.Fields(test.args)...)
		if status != test.status || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%q: status %d\n%s", test.args, status, stderr)
		}
	}
}
