// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// What takes long says how far it is, every few seconds until it is over.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		over, n := make(chan struct{}), 0
		done := progress(t.Context(), over, slog.New(slog.NewTextHandler(&log, nil)), "loading", func() []any {
			n += 10
			return []any{"messages", n}
		})
		time.Sleep(2*progressEvery + time.Second)
		close(over)
		time.Sleep(5 * progressEvery)
		done()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[1], "msg=loading for=10s messages=20") {
			t.Errorf("%q", lines)
		}
	})
}

// While Iggy cannot be used the log says why, each time that the reason changes, and what to do.
func TestRetrying(t *testing.T) {
	const times = 18 // in a start
	again := func(err error) []error { return slices.Repeat([]error{fmt.Errorf("dial: %w", err)}, times) }
	// What comes from Go names the ports of a try.
	tries := func(try func(port int) error) (all []error) {
		for port := range times {
			all = append(all, fmt.Errorf("dial: %w", try(40_000+port)))
		}
		return all
	}
	unknown, refused := again(&net.DNSError{Err: "no such host", Name: "iggy.example", IsNotFound: true}), again(syscall.ECONNREFUSED)
	for name, test := range map[string]struct {
		met  []error
		want []string
	}{
		"reasons that change": {slices.Concat(unknown, refused, unknown),
			[]string{"lookup iggy.example: no such host", "connection refused", "lookup iggy.example: no such host"}},
		"a name server that does not answer": {tries(func(port int) error {
			return &net.DNSError{Err: fmt.Sprintf("read udp 10.0.0.5:%d->10.0.0.2:53: i/o timeout", port), Name: "iggy.example", Server: "10.0.0.2:53", IsTimeout: true}
		}), []string{"lookup iggy.example: i/o timeout"}},
		"name servers that take turns": {tries(func(port int) error {
			return &net.DNSError{Err: "server misbehaving", Name: "iggy.example", Server: fmt.Sprintf("10.0.0.%d:53", port%2), IsTemporary: true}
		}), []string{"lookup iggy.example: server misbehaving"}},
		"a machine that cannot be reached": {tries(func(port int) error {
			return &net.OpError{Op: "dial", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: port}, Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 8090},
				Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
		}), []string{"no route to host"}},
		"an alert": {tries(func(port int) error {
			return &net.OpError{Op: "remote error", Net: "tcp", Source: &net.TCPAddr{Port: port}, Err: errors.New("tls: internal error")}
		}), []string{"tls: internal error"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			tell := retrying(load(t), "iggy.example:8090", slog.New(slog.NewTextHandler(&log, nil)))
			for _, err := range test.met {
				tell(err)
			}
			var got []string
			for line := range strings.Lines(log.String()) {
				if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "what_to_do=") {
					t.Error(line)
				}
				_, said, _ := strings.Cut(line, "cannot be reached: ")
				said, _, _ = strings.Cut(said, `"`)
				got = append(got, said)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}

// The start says which program it is, what is set, and which Iggy it uses, without secrets; the end that it has stopped.
func TestStartLine(t *testing.T) {
	var log bytes.Buffer
	cfg := load(t, "IGGY_KAFKA_MAX_CONNECTIONS=7", "IGGY_KAFKA_IGGY_PASSWORD=hunter2")
	cfg.Build.Version, cfg.Build.Commit = "v1.2.3", "abc"
	ctx, stop := context.WithCancel(t.Context())
	lines := make(chan string, 64)
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg, time.Now, nil, slog.New(slog.NewTextHandler(lineWriter(lines), nil))) }()
	for line := range lines {
		log.WriteString(line)
		if strings.Contains(line, "serving kafka clients") {
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(lines)
	for line := range lines {
		log.WriteString(line)
	}
	text := log.String()
	for _, want := range []string{
		"msg=starting version=v1.2.3 commit=abc", "settings.IGGY_KAFKA_MAX_CONNECTIONS=7", "settings.IGGY_KAFKA_IGGY_PASSWORD=******",
		`msg="connected to iggy"`, "version=0.8.0", "msg=stopped after=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, bad := range []string{"hunter2", "settings.IGGY_KAFKA_ADVERTISED_HOST", "INSTANCE_ID is not set"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s in\n%s", bad, text)
		}
	}
}

// lineWriter passes lines on.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}
