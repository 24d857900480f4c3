// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Command iggy-kafka-gateway serves Kafka clients from Apache Iggy. Run it with --help for its commands and settings.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/app"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the gateway could not start or had to stop
	exitUsage  = 2 // the arguments or the settings are wrong
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

func run(args, environ []string, stdout, stderr io.Writer) int {
	cfg, err := config.Load(args, environ)
	if help := (*config.Help)(nil); errors.As(err, &help) {
		fmt.Fprint(stdout, help.Text)
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	switch cfg.Command {
	case config.Check:
		return exitOK
	case config.PrintConfig:
		err = cfg.Print(stdout)
	case config.Version:
		_, err = fmt.Fprintln(stdout, version())
	default:
		err = serve(cfg, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitFailed
	}
	return exitOK
}

// serve runs the gateway until SIGTERM or SIGINT, which shut it down in good order; a second signal kills it at once. With TLS,
// SIGHUP has the certificate read again; without, it ends the gateway as it ends any program whose terminal is gone.
func serve(cfg config.Config, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop)
	reload := make(chan os.Signal, 1)
	if cfg.TLSCertFile != "" {
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
	}
	return app.Run(ctx, cfg, wallClock(), reload, logger(cfg, stderr))
}

func logger(cfg config.Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// version is the program's name with the tag that it was built from, and the commit where the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "iggy-kafka-gateway, of an unknown version"
	}
	version := "iggy-kafka-gateway " + info.Main.Version
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			version += " " + setting.Value
		}
	}
	return fmt.Sprintf("%s %s", version, info.GoVersion)
}
