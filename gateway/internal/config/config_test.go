// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files of testdata")

// input is one testdata file: lines NAME=value are the environment, "#args " lines are arguments, "#want " lines the
// faults in their order; other comments are for the reader.
type input struct{ environ, args, want []string }

func readInput(t *testing.T, path string) input {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var in input
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "#args "); ok {
			in.args = append(in.args, strings.Fields(rest)...)
		} else if rest, ok := strings.CutPrefix(line, "#want "); ok {
			in.want = append(in.want, rest)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			in.environ = append(in.environ, line)
		}
	}
	return in
}

// TestGood compares what print-config shows for each good input with its golden file.
func TestGood(t *testing.T) {
	for _, path := range files(t, "testdata/*.good.env") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in := readInput(t, path)
			cfg, err := Load(in.args, in.environ)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := cfg.Print(&got); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(path, ".env") + ".golden"
			if *rewrite {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("print-config (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBad compares all faults of each bad input.
func TestBad(t *testing.T) {
	for _, path := range files(t, "testdata/*.bad.env") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in := readInput(t, path)
			_, err := Load(in.args, in.environ)
			var faults Faults
			if !errors.As(err, &faults) {
				t.Fatalf("Load = %v, want Faults", err)
			}
			var got []string
			for _, f := range faults {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(in.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return paths
}

// TestPrintedConfigLoads feeds print-config's output back: it is a valid environment that gives the same settings.
func TestPrintedConfigLoads(t *testing.T) {
	first, err := Load(nil, []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_INSTANCE_ID=7", "IGGY_KAFKA_LOG_LEVEL=warn"})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := first.Print(&text); err != nil {
		t.Fatal(err)
	}
	second, err := Load(nil, strings.Split(strings.TrimSpace(text.String()), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	second.IggyPassword = first.IggyPassword // printed masked
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(bridge.Names{})); diff != "" {
		t.Errorf("read back (-first +second):\n%s", diff)
	}
}

func TestUnitsAndTypes(t *testing.T) {
	cfg, err := Load([]string{"check", "--embedded", "--fetch-wait-max-ms=250", "--idle-timeout-secs=3", "--log-level=debug"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type values struct {
		Command     Command
		Embedded    bool
		Wait, Idle  time.Duration
		Level       slog.Level
		InstanceSet bool
	}
	want := values{Check, true, 250 * time.Millisecond, 3 * time.Second, slog.LevelDebug, false}
	got := values{cfg.Command, cfg.Embedded, cfg.FetchWaitMax, cfg.IdleTimeout, cfg.LogLevel, cfg.InstanceIDSet}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCommands(t *testing.T) {
	for _, command := range []Command{Serve, Check, PrintConfig, Version} {
		cfg, err := Load([]string{string(command), "--embedded"}, nil)
		if err != nil || cfg.Command != command {
			t.Errorf("%s: got %q, %v", command, cfg.Command, err)
		}
	}
	if cfg, err := Load([]string{"version"}, []string{"IGGY_KAFKA_BOGUS=1"}); err != nil || cfg.Command != Version {
		t.Errorf("version in a bad environment: got %q, %v", cfg.Command, err)
	}
}

// TestTopicMap: without a map the setting names the stream, with one the map does.
func TestTopicMap(t *testing.T) {
	for _, test := range []struct {
		mapPath, topic string
		want           bridge.IggyName
	}{
		{"", "shop.orders", bridge.IggyName{Stream: "mine", Topic: "shop.orders"}},
		{"testdata/topics.toml", "shop.orders", bridge.IggyName{Stream: "shop", Topic: "Bestellungen"}},
		{"testdata/topics.toml", "other", bridge.IggyName{Stream: "événements", Topic: "other"}},
	} {
		cfg, err := Load([]string{"--embedded", "--iggy-stream=mine", "--topic-map-path=" + test.mapPath}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Names.ToIggy(test.topic); got != test.want {
			t.Errorf("map %q: topic %q is %v, want %v", test.mapPath, test.topic, got, test.want)
		}
	}
}

func TestHelp(t *testing.T) {
	_, err := Load([]string{"--help"}, []string{"IGGY_KAFKA_BOGUS=1"})
	var help *Help
	if !errors.As(err, &help) || !strings.Contains(help.Text, "--max-response-size") || !strings.Contains(help.Text, "print-config") {
		t.Fatalf("Load = %v, want *Help with the flags and commands", err)
	}
}

func TestPasswordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("s3cret \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load([]string{"--iggy-password-file", path}, nil)
	if err != nil || cfg.IggyPassword.Reveal() != "s3cret " {
		t.Errorf("password %q, %v: want the file's text without its line end", cfg.IggyPassword.Reveal(), err)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load([]string{"--iggy-password-file", path}, nil); err == nil {
		t.Error("an empty password file was accepted")
	}
}

// TestSecretsNeverShow searches every way of printing for the password.
func TestSecretsNeverShow(t *testing.T) {
	const secret = "hunter2-in-clear"
	cfg, err := Load(nil, []string{"IGGY_KAFKA_IGGY_PASSWORD=" + secret})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cfg.Print(&out); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%v %+v %#v %s", cfg, cfg, cfg, cfg.IggyPassword)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("started", "config", cfg, "password", cfg.IggyPassword)
	if err := json.NewEncoder(&out).Encode(cfg); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), secret) {
		t.Errorf("the password shows in:\n%s", out.String())
	}
	_, err = Load(nil, []string{"IGGY_KAFKA_IGGY_PASSWORD=" + secret, "IGGY_KAFKA_IGGY_PASSWORD_FILE=x", "IGGY_KAFKA_BIND_ADDR=y"})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("faults show the password, or there are none: %v", err)
	}
}

// TestPlainListener: a certificate puts TLS on the main listener, unless there is another one for it.
func TestPlainListener(t *testing.T) {
	files := []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_TLS_CERT_FILE=testdata/tls/cert.pem", "IGGY_KAFKA_TLS_KEY_FILE=testdata/tls/key.pem"}
	for _, test := range []struct {
		environ []string
		want    bool
	}{
		{files[:1], true},
		{files, false},
		{append(files, "IGGY_KAFKA_TLS_BIND_ADDR=127.0.0.1:9095"), true},
	} {
		cfg, err := Load(nil, test.environ)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.PlainListener(); got != test.want {
			t.Errorf("%q: a listener without TLS: %t", test.environ, got)
		}
	}
}

// Only what surely is this machine is a loopback address.
func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"localhost:1": true, "127.0.0.1:1": true, "127.8.9.10:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "[::1%lo]:1": true,
		"": false, ":1": false, "pipe": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "localhost.example:1": false, "127.0.0.1": false,
	} {
		if got := LoopbackAddr(addr); got != want {
			t.Errorf("%q: %v", addr, got)
		}
	}
}

// TestLocal: a listener on every address is reached by the loopback one.
func TestLocal(t *testing.T) {
	for addr, want := range map[string]string{
		":1": "127.0.0.1:1", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "[::1]:1", "10.0.0.1:1": "10.0.0.1:1", "gateway:1": "gateway:1", "x": "x",
	} {
		if got := Local(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// TestChanged: what was set to something else than the default, and not what follows from that.
func TestChanged(t *testing.T) {
	for _, test := range []struct {
		environ []string
		want    string
	}{
		{[]string{"IGGY_KAFKA_EMBEDDED=true"}, "EMBEDDED=true"},
		{[]string{"IGGY_KAFKA_IGGY_PASSWORD=hunter2", "IGGY_KAFKA_MAX_CONNECTIONS=1024"}, "IGGY_PASSWORD=******"},
		{[]string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_BIND_ADDR=0.0.0.0:1", "IGGY_KAFKA_ADVERTISED_HOST=x", "IGGY_KAFKA_AUTO_CREATE_TOPICS=false", "IGGY_KAFKA_IGGY_PASSWORD=other"},
			"BIND_ADDR=0.0.0.0:1 ADVERTISED_HOST=x EMBEDDED=true IGGY_PASSWORD=******"},
		{[]string{"IGGY_KAFKA_IGGY_PASSWORD=x", "IGGY_KAFKA_AUTO_CREATE_TOPICS=true", "IGGY_KAFKA_ADVERTISED_PORT=9"}, "ADVERTISED_PORT=9 AUTO_CREATE_TOPICS=true IGGY_PASSWORD=******"},
	} {
		cfg, err := Load(nil, test.environ)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := cfg.Changed()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range changed {
			got = append(got, strings.TrimPrefix(s.Variable, Prefix)+"="+s.Value)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, want %q", test.environ, got, test.want)
		}
	}
}
