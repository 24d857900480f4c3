// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// Member is a running program.
type Member struct {
	program Program
	cmd     *exec.Cmd
	stderr  tail
	exited  chan struct{} // closed once all its events were told and it has been waited for
	err     error         // why its output could not be read on; valid once exited is closed
}

// Start starts a member. Told is called with its events one after the other, the last before Stop or Kill returns.
// Clients is the folder e2e/clients.
func (p Program) Start(clients string, c Config, told func(Event)) (*Member, error) {
	args := slices.Concat(p.command[1:], p.arguments(c))
	m := &Member{program: p, cmd: exec.Command(filepath.Join(clients, p.command[0]), args...), exited: make(chan struct{})}
	m.cmd.Stderr = &m.stderr
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("group: starting %s: %w", p, err)
	}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("group: starting %s: %w", p, err)
	}
	go func() {
		defer close(m.exited)
		if m.err = m.read(out, told); m.err != nil {
			_ = m.cmd.Process.Kill() // it may wait for its output to be read
		}
		_ = m.cmd.Wait() // how it ended its last event tells better: Java's code says that it was a signal
	}()
	return m, nil
}

func (m *Member) read(out io.Reader, told func(Event)) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		e, err := m.program.parse(lines.Bytes())
		if err != nil {
			return err
		}
		if e.Kind != "" {
			told(e)
		}
	}
	return lines.Err()
}

// Stop asks the member to close its consumer, and waits for its end; after ctx it is killed.
func (m *Member) Stop(ctx context.Context) error {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-m.exited:
		return m.err
	case <-ctx.Done():
		m.Kill()
		return fmt.Errorf("group: %s does not close: %w", m.program, ctx.Err())
	}
}

// Kill ends the member as a crash does.
func (m *Member) Kill() {
	_ = m.cmd.Process.Kill() // fails only when it has ended
	<-m.exited
}

// Log is the end of what the member wrote besides its events; valid after Stop or Kill.
func (m *Member) Log() string { return m.stderr.end.String() }

// tail keeps the end of what is written to it.
type tail struct{ end bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const most = 16 << 10
	t.end.Write(p)
	if surplus := t.end.Len() - most; surplus > 0 {
		t.end.Next(surplus)
	}
	return len(p), nil
}
