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
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/app"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/completion"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/doctor"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the gateway could not start or had to stop
	exitUsage  = 2 // the arguments or the settings are wrong
)

// version is set by the linker of a release: -ldflags "-X main.version=v0.1.0".
var version string

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
	build := buildinfo.Read(version)
	switch cfg.Command {
	case config.Doctor:
		return examine(cfg.Arguments, environ, build, stdout, stderr)
	case config.Check:
		err = cfg.PrintCheck(stdout)
	case config.PrintConfig:
		err = cfg.Print(stdout)
	case config.Version:
		_, err = fmt.Fprintln(stdout, config.Program, build)
	case config.Completion:
		err = complete(cfg.Arguments[0], stdout)
	case config.HealthCheck:
		err = checkHealth(cfg.AdminAddr)
	default:
		cfg.Build = build
		return serve(cfg, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitFailed
	}
	return exitOK
}

// examine finds out what a Kafka client meets.
func examine(args, environ []string, build buildinfo.Info, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	healthy, err := doctor.Command(ctx, args, environ, build.Version, stdout)
	if err != nil {
		fmt.Fprintln(stderr, err)
		if wrong := (*doctor.Usage)(nil); errors.As(err, &wrong) {
			return exitUsage
		}
		return exitFailed
	}
	if !healthy {
		return exitFailed
	}
	return exitOK
}

// complete prints what has a shell complete the command line.
func complete(shell string, stdout io.Writer) error {
	model, err := config.Model()
	if err != nil {
		return err
	}
	examination, err := doctor.Model()
	if err != nil {
		return err
	}
	script, err := completion.Script(shell, model, map[string]*kong.Application{string(config.Doctor): examination})
	if err != nil {
		return err
	}
	_, err = stdout.Write(script)
	return err
}

// serve runs the gateway until SIGTERM or SIGINT, which shut it down in good order; a second signal kills it at once. With TLS,
// SIGHUP has the certificate read again; without, it ends the gateway as it ends any program whose terminal is gone.
func serve(cfg config.Config, stderr io.Writer) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop)
	reload := make(chan os.Signal, 1)
	if cfg.TLSCertFile != "" {
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
	}
	log := logger(cfg, stderr)
	err := app.Run(ctx, cfg, wallClock(), reload, log)
	if err == nil {
		return exitOK
	}
	attrs := []any{"error", err}
	if known := (*app.Mistake)(nil); errors.As(err, &known) {
		attrs = append(attrs, "what_to_do", known.Do)
	}
	log.Error("the gateway cannot go on", attrs...)
	return exitFailed
}

func logger(cfg config.Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
