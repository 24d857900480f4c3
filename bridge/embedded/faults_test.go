// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// TestFaults runs testdata/faults/*.txt: a bridge whose way to the server does what a script says. Commands:
//
//	script                    rules of bridgetest.Proxy, replacing the ones before
//	refuse on|off             no connection is let through
//	append [timeout=d] [n=k] [retry]
//	                          a batch of k messages: its base offset, or the class of the error; with retry it is
//	                          sent again, as a client does, while nothing was written
//	bounds|topics|read [timeout=d]
//	stored                    what the server holds, asked past the proxy: how many messages, how many of them twice
//
// Every call must end soon after its deadline.
func TestFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	datadriven.Walk(t, "testdata/faults", func(t *testing.T, path string) {
		t.Parallel()
		env := newFaultEnv(t, hungAfter)
		defer env.close()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return env.run(t, d) })
	})
}

// patience is how long an operation may take that has to succeed, and overdue by how much one may miss its deadline:
// generous, because machines that run tests are busy.
const (
	patience = 30 * time.Second
	overdue  = 10 * time.Second
)

type faultEnv struct {
	server  *Server
	proxy   *bridgetest.Proxy
	bridge  *bridge.Bridge // through the proxy
	direct  *bridge.Bridge // past it
	topic   *bridge.Topic
	batches int
	config  bridge.Config // of bridge
}

// newFaultEnv starts a server, and a bridge that counts a connection as hung after callTimeout.
func newFaultEnv(t *testing.T, callTimeout time.Duration) *faultEnv {
	t.Helper()
	var env faultEnv
	var err error
	if env.server, err = Start(t.Context(), Config{InMemory: true}); err != nil {
		t.Fatal(err)
	}
	if env.proxy, err = bridgetest.StartProxy(env.server.Addr().String()); err != nil {
		t.Fatal(err)
	}
	env.config = bridge.Config{
		Addr: env.proxy.Addr(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"),
		CallTimeout: callTimeout, DialTimeout: time.Second, TopicViewAge: time.Millisecond,
	}
	direct := env.config
	direct.Addr = env.server.Addr().String()
	if env.direct, err = bridge.Open(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	if env.bridge, err = bridge.Open(t.Context(), env.config); err != nil {
		t.Fatal(err)
	}
	if env.topic, err = env.bridge.CreateTopic(t.Context(), env.bridge.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	return &env
}

func (e *faultEnv) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	e.bridge.Close(ctx)
	e.direct.Close(ctx)
	e.proxy.Close()
	_ = e.server.Close()
}

func (e *faultEnv) run(t *testing.T, d *datadriven.TestData) string {
	timeout, n, retry := patience, 1, false
	for _, arg := range d.CmdArgs {
		var err error
		switch arg.Key {
		case "timeout":
			timeout, err = time.ParseDuration(arg.Vals[0])
		case "n":
			n, err = strconv.Atoi(arg.Vals[0])
		case "retry":
			retry = true
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	out := e.command(ctx, t, d, n, start.Add(timeout))
	for retry && (out == notSent || out == retryable) && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond) // what a client calls its retry.backoff.ms
		out = e.command(ctx, t, d, n, start.Add(timeout))
	}
	if took := time.Since(start); took > timeout+overdue {
		d.Fatalf(t, "%s took %v, its deadline was %v", d.Cmd, took, timeout)
	}
	return out + "\n"
}

func (e *faultEnv) command(ctx context.Context, t *testing.T, d *datadriven.TestData, n int, deadline time.Time) string {
	switch d.Cmd {
	case "script":
		if err := e.proxy.Script(d.Input); err != nil {
			d.Fatalf(t, "%v", err)
		}
		return "ok"
	case "refuse":
		e.proxy.Refuse(d.CmdArgs[0].Key == "on")
		return "ok"
	case "append":
		return e.append(ctx, n, deadline)
	case "bounds":
		return e.bounds(ctx)
	case "topics":
		return e.topics(ctx)
	case "read":
		return e.read(ctx)
	case "stored":
		return e.stored(ctx)
	default:
		d.Fatalf(t, "no such command")
		return ""
	}
}

func (e *faultEnv) append(ctx context.Context, n int, deadline time.Time) string {
	e.batches++
	ids := mapping.IDs{ProducerID: int64(e.batches)}
	a := &bridge.Append{Session: e.bridge.Self(), Count: n, Deadline: deadline}
	for i := range n {
		a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(i), Payload: fmt.Appendf(nil, "batch %d message %d", e.batches, i)})
	}
	if err := e.bridge.Append(e.topic, 0, a); err != nil {
		return writeClass(err)
	}
	got, err := a.Wait(ctx)
	if err != nil {
		return writeClass(err)
	}
	return fmt.Sprintf("base %d", got.BaseOffset)
}

func (e *faultEnv) bounds(ctx context.Context) string {
	bounds, err := e.bridge.Bounds(ctx, e.topic)
	if err != nil {
		return readClass(err)
	}
	return fmt.Sprintf("next %d", bounds[0].Next)
}

func (e *faultEnv) topics(ctx context.Context) string {
	view, err := e.bridge.Topics(ctx)
	if err != nil {
		return readClass(err)
	}
	return fmt.Sprintf("%d topics", len(view.Topics))
}

func (e *faultEnv) read(ctx context.Context) string {
	m, err := e.bridge.Read(ctx, e.bridge.Self(), e.topic, 0, 0, 1000)
	if err != nil {
		return readClass(err)
	}
	defer m.Release()
	return fmt.Sprintf("%d messages", m.Count)
}

func (e *faultEnv) stored(ctx context.Context) string {
	m, err := e.direct.Read(ctx, e.direct.Self(), e.topic, 0, 0, 1000)
	if err != nil {
		return readClass(err)
	}
	defer m.Release()
	seen, twice := map[string]bool{}, 0
	for rest := m.Messages; len(rest) > 0; {
		msg, n, err := mapping.ParseMessage(rest)
		if err != nil {
			return err.Error()
		}
		if seen[string(msg.Payload)] {
			twice++
		}
		seen[string(msg.Payload)] = true
		rest = rest[n:]
	}
	return fmt.Sprintf("%d messages, %d twice", m.Count, twice)
}

// writeClass is what the producer of a batch acts on: may it exist? Which of two errors of one class it gets when
// several things end at the same deadline is open.
func writeClass(err error) string {
	switch {
	case errors.Is(err, bridge.ErrUnavailable) && !bridge.IsUnknownOutcome(err):
		return notSent
	case bridge.IsUnknownOutcome(err), bridge.IsTimeout(err):
		return "error: perhaps written"
	default:
		return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
}

// readClass is what a reader acts on: may the question be repeated?
func readClass(err error) string {
	if bridge.IsRetryable(err) {
		return retryable
	}
	return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
}

const (
	notSent   = "error: nothing was sent"
	retryable = "error: retryable"
)
