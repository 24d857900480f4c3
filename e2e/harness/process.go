// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 40 * time.Second // above the gateway's own drain
	logTail      = 8 << 10          // bytes of the log that a failure shows
)

// process is one running program; its output goes to a file.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{} // closed once the program has been waited for
	err    error         // how it ended; valid once exited is closed
}

// launch starts a program and returns once it accepts connections on addr. Its output is appended to the file log.
func launch(ctx context.Context, name, log, addr, program string, args, env []string) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	defer out.Close() // the program has its own copy
	p := &process{name: name, log: log, cmd: exec.Command(program, args...), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environment(env...), out, out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("harness: starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.await(ctx, addr); err != nil {
		p.kill()
		return nil, fmt.Errorf("%w\n%s", err, p.tail())
	}
	return p, nil
}

// await dials addr until it answers, the program ends or the time is up.
func (p *process) await(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-retry.C:
		case <-p.exited:
			return fmt.Errorf("harness: %s ended before it was ready: %v", p.name, p.err)
		case <-ctx.Done():
			return fmt.Errorf("harness: %s does not accept connections on %s: %w", p.name, addr, err)
		}
	}
}

// stop asks the program to end and waits for it; an exit code but 0 is an error.
func (p *process) stop(ctx context.Context) error {
	select {
	case <-p.exited:
		return fmt.Errorf("harness: %s had ended by itself: %v\n%s", p.name, p.err, p.tail())
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("harness: stopping %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		if p.err != nil {
			return fmt.Errorf("harness: %s: %w\n%s", p.name, p.err, p.tail())
		}
		return nil
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("harness: %s did not end within %v of SIGTERM\n%s", p.name, stopTimeout, p.tail())
	}
}

// kill ends the program as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.exited
}

// tail returns the end of the log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if len(text) > logTail {
		text = text[len(text)-logTail:]
	}
	return fmt.Sprintf("--- end of %s\n%s", p.log, text)
}

// freeAddr returns a loopback address that nothing listens on now. A program that must come back at the same address
// after a restart cannot choose a free port for itself.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("harness: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
