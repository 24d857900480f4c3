// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command iggy-embedded runs the embedded Iggy server alone. The first line that
// it prints says where it listens.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "iggy-embedded:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends; asked for help, it only shows that.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	server, err := embedded.Start(ctx, cfg)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "iggy-embedded listening on %s\n", server.Addr())
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, server.Close())
}

// parse reads flags, and the root user's name and password also from the
// variables IGGY_USERNAME and IGGY_PASSWORD, where a password is not seen by
// everybody who lists processes.
func parse(args []string, getenv func(string) string, stderr io.Writer) (embedded.Config, error) {
	var cfg embedded.Config
	flags := flag.NewFlagSet("iggy-embedded", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&cfg.Addr, "addr", "127.0.0.1:8090", "host:port to listen on; port 0 takes any free one")
	flags.StringVar(&cfg.DataDir, "data-dir", "", "folder to keep data in")
	flags.BoolVar(&cfg.InMemory, "memory", false, "keep data in memory only, instead of --data-dir")
	flags.BoolVar(&cfg.NoFsync, "no-fsync", false, "answer writes before they are on the disk; the last ones may be lost")
	flags.BoolVar(&cfg.LoseUnflushed, "test-lose-unflushed", false,
		"test mode: after a kill lose acknowledged messages that a real server would not have flushed")
	flags.DurationVar(&cfg.CleanerInterval, "cleaner-interval", 0,
		"how often to take away what topics' expiry and maximum size do not keep; default 1m, negative: never")
	flags.Uint64Var(&cfg.SegmentSize, "segment-size", 0, "bytes of messages in a segment, the unit that is taken away; default 1 GiB")
	certFile := flags.String("tls-cert-file", "", "PEM file with the certificate: speak TLS, together with --tls-key-file")
	keyFile := flags.String("tls-key-file", "", "PEM file with the certificate's private key")
	flags.StringVar(&cfg.Username, "username", getenv("IGGY_USERNAME"), "root user; also IGGY_USERNAME; default iggy")
	flags.StringVar(&cfg.Password, "password", "", "root user's password; also IGGY_PASSWORD; default iggy")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if flags.NArg() > 0 {
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !cfg.InMemory && cfg.DataDir == "" {
		return cfg, errors.New("say where to keep data: --memory or --data-dir FOLDER")
	}
	if cfg.Password == "" {
		cfg.Password = getenv("IGGY_PASSWORD")
	}
	var err error
	cfg.TLS, err = loadTLS(*certFile, *keyFile)
	return cfg, err
}

// loadTLS returns nil when neither file is named.
func loadTLS(certFile, keyFile string) (*tls.Config, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "" || keyFile == "":
		return nil, errors.New("--tls-cert-file and --tls-key-file go together")
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}
