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

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	startTimeout = 3 * time.Minute  // a JVM on a busy machine takes its time
	stopTimeout  = 40 * time.Second // above the gateway's own drain
	logTail      = 8 << 10          // bytes of the log that a failure shows
)

// Program is one program under test. It can be ended and started again: at the same address, with the same data. Its
// output is appended to a file.
type Program struct {
	name, log string
	path      string
	args, env []string
	ready     func(ctx context.Context) error // nil once the program serves
	stopCode  int                             // its exit code when it has ended as it was asked to

	cmd    *exec.Cmd
	exited chan struct{} // closed once the program has been waited for
	err    error         // how it ended; valid once exited is closed
}

// start starts a program for the first time.
func start(ctx context.Context, p Program) (*Program, error) {
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	return &p, nil
}

// Start returns once the program serves.
func (p *Program) Start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(p.log), 0o755); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	defer out.Close() // the program has its own copy
	cmd, exited := exec.Command(p.path, p.args...), make(chan struct{})
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(p.env...), out, out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("harness: starting %s: %w", p.name, err)
	}
	p.cmd, p.exited = cmd, exited
	go func() {
		p.err = cmd.Wait()
		close(exited)
	}()
	if err := p.await(ctx); err != nil {
		p.Kill()
		return fmt.Errorf("%w\n%s", err, p.tail())
	}
	return nil
}

// Set gives the program other variables (NAME=value) when it is started the next time.
func (p *Program) Set(variables ...string) { p.env = append(p.env, variables...) }

// await tries until the program serves, it ends or the time is up.
func (p *Program) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-p.exited:
			return fmt.Errorf("harness: %s ended before it was ready: %v", p.name, p.err)
		case <-ctx.Done():
			return fmt.Errorf("harness: %s does not serve: %w", p.name, err)
		}
	}
}

// accepts is ready for a program that does not listen before it serves.
func accepts(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// answers is ready for a broker, whose first answers come before it knows itself.
func answers(addr string) func(context.Context) error {
	return asked(addr, (*kgo.Client).Ping)
}

// speaks is ready for the gateway, which takes its port before it has reached Iggy, and may want to know first who asks: then
// it says no more than what it serves.
func speaks(addr string) func(context.Context) error {
	return asked(addr, func(client *kgo.Client, ctx context.Context) error {
		_, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
		return err
	})
}

func asked(addr string, ask func(*kgo.Client, context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0))
		if err != nil {
			return err
		}
		defer client.Close()
		return ask(client, ctx)
	}
}

// PID is the process id, valid while the program runs.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Stop asks the program to end and waits for it; another exit code than the one that goes with that is an error.
func (p *Program) Stop(ctx context.Context) error {
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
		if code := p.cmd.ProcessState.ExitCode(); code != p.stopCode {
			return fmt.Errorf("harness: %s ended with %d: %v\n%s", p.name, code, p.err, p.tail())
		}
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("harness: %s did not end within %v of SIGTERM\n%s", p.name, stopTimeout, p.tail())
	}
}

// Kill ends the program as a crash does.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.exited
}

// Pause stops the program's every thread until Resume; its sockets stay open, and what comes in waits in them. The program
// may have ended: then nothing happens.
func (p *Program) Pause() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends a pause.
func (p *Program) Resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// Ended tells whether the program has ended, by itself or because it was asked to.
func (p *Program) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Log is the file that the program's output is appended to.
func (p *Program) Log() string { return p.log }

// Abort ends a program in Go like Kill, its log showing what all its goroutines do.
func (p *Program) Abort() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	<-p.exited
}

// tail returns the end of the log.
func (p *Program) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if len(text) > logTail {
		text = text[len(text)-logTail:]
	}
	return fmt.Sprintf("--- end of %s\n%s", p.log, text)
}

// FreeAddr returns a loopback address that nothing listens on now. A program that must come back at the same address
// after a restart cannot choose a free port for itself.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("harness: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
