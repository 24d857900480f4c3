// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// spareFiles are what a process needs besides the connections that are counted.
const spareFiles = 1_000

// idle measures what connections that do nothing cost the gateway, for each of the numbers on a gateway of its own. They
// are held by a process of its own, and have done what every client does first.
func (p plan) idle(ctx context.Context, dir string, out io.Writer) error {
	if err := raiseFileLimit(slices.Max(p.connections) + spareFiles); err != nil {
		return err
	}
	rows := [][]string{{"connections", "all answer", "KiB each at once", fmt.Sprintf("KiB each after %v", p.settle)}}
	for _, n := range p.connections {
		row, err := p.idleConnections(ctx, filepath.Join(dir, fmt.Sprint(n)), n)
		if err != nil {
			return fmt.Errorf("%d connections: %w", n, err)
		}
		rows = append(rows, row)
	}
	_, err := fmt.Fprintf(out, "idle connections\n\n%s\n", table(rows))
	return err
}

func (p plan) idleConnections(ctx context.Context, dir string, n int) (row []string, err error) {
	targets, err := startTargets(ctx, []string{"separate"}, dir,
		slices.Concat(p.settings, []string{fmt.Sprintf("IGGY_KAFKA_MAX_CONNECTIONS=%d", n+spareFiles)})...)
	defer func() { err = errors.Join(err, closeTargets(targets)) }()
	if err != nil {
		return nil, err
	}
	gateway, addr := targets[0].Gateway, targets[0].Kafka
	h, err := startHolder(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer h.end()
	if err := h.ask(1); err != nil { // what the first one of all costs is not a connection's
		return nil, err
	}
	before, err := memoryOf(gateway.PID(), memoryNow)
	if err != nil {
		return nil, err
	}
	if err := h.ask(n); err != nil {
		return nil, err
	}
	each := func() (string, error) {
		now, err := memoryOf(gateway.PID(), memoryNow)
		return fmt.Sprintf("%.1f", float64(now-before)/float64(n)/(1<<10)), err
	}
	atOnce, err := each()
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, p.settle); err != nil {
		return nil, err
	}
	settled, err := each()
	if err != nil {
		return nil, err
	}
	if err := h.ask(0); err != nil {
		return nil, err
	}
	return []string{fmt.Sprint(n), "yes", atOnce, settled}, nil
}

// holder is the process that holds connections.
type holder struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr strings.Builder
}

func startHolder(ctx context.Context, addr string) (*holder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	h := &holder{cmd: exec.CommandContext(ctx, self, holdCommand, addr)}
	h.cmd.Stderr = &h.stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	h.out = bufio.NewReader(out)
	return h, h.cmd.Start()
}

// ask makes the process open that many more connections, then all that it holds are asked something.
func (h *holder) ask(more int) error {
	fmt.Fprintln(h.in, more) // if this fails there is no answer either
	if line, err := h.out.ReadString('\n'); err != nil || line != heldAnswer {
		h.end()
		return fmt.Errorf("bench: the process that holds the connections: %v\n%s", err, h.stderr.String())
	}
	return nil
}

func (h *holder) end() {
	h.in.Close()
	_ = h.cmd.Wait() // its failure was seen by ask
}

// raiseFileLimit lets this process and those that it starts open so many files. All of them are Go programs, which raise
// their soft limit to the hard one by themselves; the hard one only root can raise.
func raiseFileLimit(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if limit.Cur >= uint64(n) {
		return nil
	}
	limit.Cur, limit.Max = uint64(n), max(limit.Max, uint64(n))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("bench: %d open files are needed: %w", n, err)
	}
	return nil
}
