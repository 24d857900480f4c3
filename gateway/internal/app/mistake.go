// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

// Mistake is the error of a start that failed for a reason that is known: what is wrong, in words of whoever runs the gateway, and
// what to do about it.
type Mistake struct {
	What, Do string
	Err      error // what was met; may be nil
}

func (m *Mistake) Error() string { return m.What }
func (m *Mistake) Unwrap() error { return m.Err }

// listenMistake is what it means that a port cannot be had.
func listenMistake(setting, addr string, err error) error {
	m := &Mistake{What: setting + "=" + addr + ": " + socketCause(err), Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		m.What = fmt.Sprintf("%s=%s: another process has this port", setting, addr)
		m.Do = "perhaps a gateway runs already: stop it, or give this one another port"
	case errors.Is(err, syscall.EACCES):
		m.Do = "ports below 1024 are kept for privileged processes: take one above"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		m.Do = "no network interface of this machine has that address; 0.0.0.0 listens on all of them"
	default:
		m.Do = "set " + setting + " to a host and port of this machine"
	}
	return m
}

// embeddedMistake is what it means that the embedded Iggy does not start.
func embeddedMistake(cfg config.Config, err error) error {
	var listening *net.OpError
	m := &Mistake{What: fmt.Sprintf("the embedded iggy cannot start with its data in %s: %s", cfg.DataDir, socketCause(err)),
		Do: "IGGY_KAFKA_DATA_DIR must be a folder that this user may write to", Err: err}
	switch {
	case errors.As(err, &listening) && listening.Op == "listen":
		return listenMistake("IGGY_KAFKA_EMBEDDED_ADDR", cfg.EmbeddedAddr, err)
	case errors.Is(err, embedded.ErrFolderInUse):
		m.What = fmt.Sprintf("another process uses the data in %s", cfg.DataDir)
		m.Do = "perhaps a gateway runs already: stop it, or give this one another IGGY_KAFKA_DATA_DIR"
	}
	return m
}

// iggyMistake is what it means that Iggy cannot be used.
func iggyMistake(cfg config.Config, addr string, err error) error {
	var (
		refusal *bridge.StatusError
		missing *bridge.StreamMissingError
	)
	m := &Mistake{Err: err}
	switch {
	case bridge.IsLoginFailed(err) && errors.As(err, &refusal):
		m.What = fmt.Sprintf("iggy at %s does not let the user %q in: %v", addr, cfg.IggyUsername, refusal.Status)
		m.Do = "set IGGY_KAFKA_IGGY_USERNAME and IGGY_KAFKA_IGGY_PASSWORD (or IGGY_KAFKA_IGGY_PASSWORD_FILE) to a user that is active in iggy"
	case errors.As(err, &missing):
		m.What = fmt.Sprintf("iggy at %s has no stream %q, which the topic map %s names", addr, missing.Stream, cfg.TopicMapPath)
		m.Do = "make the stream in iggy, or correct the topic map: the gateway makes the default stream only"
	case bridge.IsUnauthorized(err):
		m.What = fmt.Sprintf("iggy at %s: the user %q lacks a permission: %v", addr, cfg.IggyUsername, strings.TrimPrefix(err.Error(), "bridge: "))
		m.Do = permissionsNeeded(cfg)
	default:
		m.What, m.Do = unreachable(cfg, addr, err)
	}
	return m
}

// stateMistake is what it means that the gateway cannot use the topic of its state.
func stateMistake(cfg config.Config, err error) error {
	if !bridge.IsUnauthorized(err) {
		return fmt.Errorf("app: %w", err)
	}
	return &Mistake{
		What: fmt.Sprintf("iggy does not let the user %q make or use the topic %q, in which the gateway keeps its state", cfg.IggyUsername, cfg.StateTopic),
		Do:   permissionsNeeded(cfg), Err: err,
	}
}

// permissionsNeeded are those that the gateway's own user must have in Iggy.
func permissionsNeeded(cfg config.Config) string {
	return fmt.Sprintf("give it in iggy: read streams, read topics, poll messages and send messages; and manage streams and topics, unless the stream %q and the topic %q in it are there already",
		cfg.IggyStream, cfg.StateTopic)
}

// unreachable says why there is no way to Iggy.
func unreachable(cfg config.Config, addr string, err error) (what, do string) {
	var (
		name   *net.DNSError
		record tls.RecordHeaderError
	)
	flaw, is := diagnosis.Certificate(err, time.Now())
	what = fmt.Sprintf("iggy at %s cannot be reached: %s", addr, socketCause(err))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return what, "is it running? IGGY_KAFKA_IGGY_ADDR is the address of its TCP listener, port 8090 by default; without a server, IGGY_KAFKA_EMBEDDED=true runs one inside"
	case errors.As(err, &name):
		return what, "IGGY_KAFKA_IGGY_ADDR names a host that this machine does not know"
	case flaw != diagnosis.NoFlaw:
		return fmt.Sprintf("iggy at %s shows a certificate %s", addr, is), map[diagnosis.Flaw]string{
			diagnosis.UnknownAuthority: "set IGGY_KAFKA_IGGY_TLS_CA_FILE to the authority's certificate",
			diagnosis.OtherName:        "set IGGY_KAFKA_IGGY_TLS_DOMAIN to a name that the certificate has",
			diagnosis.Invalid:          "renew it, or put this machine's clock right",
		}[flaw]
	case errors.As(err, &record), cfg.IggyTLSEnabled && diagnosis.HungUp(err):
		return fmt.Sprintf("iggy at %s does not speak TLS, and IGGY_KAFKA_IGGY_TLS_ENABLED says so", addr),
			"leave the setting out, or switch TLS on in iggy"
	case !cfg.IggyTLSEnabled && (diagnosis.HungUp(err) || errors.Is(err, bridge.ErrMalformed)):
		return fmt.Sprintf("what listens at %s does not speak iggy's protocol, at least not without TLS", addr),
			"if iggy has TLS, set IGGY_KAFKA_IGGY_TLS_ENABLED=true; IGGY_KAFKA_IGGY_ADDR is its TCP listener, not its HTTP one"
	case bridge.IsTimeout(err), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("iggy at %s does not answer", addr), "a firewall or a wrong address in IGGY_KAFKA_IGGY_ADDR, a server that hangs, or one without TLS where IGGY_KAFKA_IGGY_TLS_ENABLED=true"
	}
	return what, "look at iggy's log, and at IGGY_KAFKA_IGGY_ADDR"
}

// socketCause is the innermost error, without the operations that met it one around the other: they name ports that nobody has
// chosen, so that one cause would look like another each time.
func socketCause(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	var name *net.DNSError
	if errors.As(err, &name) {
		// Its own text has the name server that was asked, and the port of the question: other ones each time.
		words := strings.Split(name.Err, ": ")
		return "lookup " + name.Name + ": " + words[len(words)-1]
	}
	for {
		var inner error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[len(all)-1] // the cause stands last
			}
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
