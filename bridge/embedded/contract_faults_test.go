// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// hungAfter is when these tests' bridge counts a connection as hung. An operation that is to end by its deadline has less time,
// and enough to come to where the fault is on a busy machine.
const hungAfter = 2 * time.Second

// TestEveryFault runs testdata/every_fault/*.txt: every operation of the bridge under every fault, in both directions.
// Commands:
//
//	<operation> [timeout=d]
//	                          for each rule of bridgetest.Proxy in the input: the operation while that rule alone is in
//	                          force, and then again, as a client does, without it until it works
//	stored                    what the server holds: how many messages, how many of them twice
//
// Without a timeout it has to succeed, or to fail at once. Every operation must end soon after its deadline.
func TestEveryFault(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	datadriven.Walk(t, "testdata/every_fault", func(t *testing.T, path string) {
		t.Parallel()
		env := newFaultEnv(t, hungAfter)
		defer env.close()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "stored" {
				return env.stored(t.Context()) + "\n"
			}
			return env.underFaults(t, d)
		})
	})
}

// The script of each operation has every fault in both directions.
func TestEveryFaultIsScripted(t *testing.T) {
	for operation := range operations() {
		script, err := os.ReadFile("testdata/every_fault/" + operation + ".txt")
		if err != nil {
			t.Error(err)
		}
		for _, direction := range []string{"request", "answer"} {
			for _, fault := range []string{"delay", "cut", "corrupt", "stall"} {
				if words := direction + " " + fault; !strings.Contains(string(script), words) {
					t.Errorf("%s is not tried with: %s", operation, words)
				}
			}
		}
	}
}

// attempt is one operation that a fault befalls, and what it takes to do it again. It says what came of it.
type attempt func(ctx context.Context, deadline time.Time) string

// operations are those of the bridge that ask Iggy something. Each is prepared past the faults.
func operations() map[string]func(e *faultEnv, t *testing.T) attempt {
	return map[string]func(e *faultEnv, t *testing.T) attempt{
		"append": (*faultEnv).appendAttempt,
		"read":   (*faultEnv).readAttempt,
		"bounds": (*faultEnv).boundsAttempt,
		"topics": (*faultEnv).topicsAttempt,
		"create": (*faultEnv).createAttempt,
		"delete": (*faultEnv).deleteAttempt,
		"open":   (*faultEnv).openAttempt,
		"news":   (*faultEnv).newsAttempt,
	}
}

func (e *faultEnv) underFaults(t *testing.T, d *datadriven.TestData) string {
	prepare, known := operations()[d.Cmd]
	if !known {
		d.Fatalf(t, "no such operation")
	}
	timeout := patience
	if d.HasArg("timeout") {
		var text string
		d.ScanArgs(t, "timeout", &text)
		var err error
		if timeout, err = time.ParseDuration(text); err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	var out strings.Builder
	for rule := range strings.Lines(d.Input) {
		rule = strings.TrimSpace(rule)
		do := prepare(e, t)
		if err := e.proxy.Script(rule); err != nil {
			d.Fatalf(t, "%v", err)
		}
		fmt.Fprintf(&out, "%s: %s", rule, e.within(t, rule, timeout, do))
		if err := e.proxy.Script(""); err != nil {
			d.Fatalf(t, "%v", err)
		}
		fmt.Fprintf(&out, ", then %s\n", e.untilDone(t, rule, do))
	}
	return out.String()
}

// within makes one attempt, which has to end in time.
func (e *faultEnv) within(t *testing.T, rule string, timeout time.Duration, do attempt) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	outcome := do(ctx, start.Add(timeout))
	if took := time.Since(start); took > timeout+overdue {
		t.Errorf("%s: took %v, the deadline was %v", rule, took, timeout)
	}
	return outcome
}

// untilDone does what a client does: it tries again.
func (e *faultEnv) untilDone(t *testing.T, rule string, do attempt) string {
	t.Helper()
	again := []string{notSent, retryable, perhapsDone}
	for start := time.Now(); ; time.Sleep(backoff) {
		outcome := e.within(t, rule, patience, do)
		if !slices.Contains(again, outcome) || time.Since(start) > patience {
			return outcome
		}
	}
}

func (e *faultEnv) appendAttempt(*testing.T) attempt {
	return func(ctx context.Context, deadline time.Time) string { return e.append(ctx, 2, deadline) }
}

func (e *faultEnv) readAttempt(t *testing.T) attempt {
	if e.batches == 0 {
		e.directAppend(t)
	}
	return func(ctx context.Context, _ time.Time) string { return e.read(ctx) }
}

func (e *faultEnv) boundsAttempt(t *testing.T) attempt {
	if e.batches == 0 {
		e.directAppend(t)
	}
	return func(ctx context.Context, _ time.Time) string { return e.bounds(ctx) }
}

func (e *faultEnv) topicsAttempt(*testing.T) attempt {
	return func(ctx context.Context, _ time.Time) string {
		view, err := e.bridge.TopicsWithin(ctx, 0)
		if err != nil {
			return readClass(err)
		}
		return fmt.Sprintf("%d topics", len(view.Topics))
	}
}

// directAppend writes past the proxy.
func (e *faultEnv) directAppend(t *testing.T) {
	t.Helper()
	through := e.bridge
	defer func() { e.bridge = through }()
	e.bridge = e.direct
	if out := e.append(t.Context(), 3, time.Now().Add(5*time.Second)); !strings.HasPrefix(out, "base") {
		t.Fatal(out)
	}
}

func (e *faultEnv) createAttempt(*testing.T) attempt {
	e.batches++
	spec := bridge.TopicSpec{Name: fmt.Sprintf("made-%d", e.batches), Partitions: 1}
	return func(ctx context.Context, _ time.Time) string {
		_, err := e.bridge.CreateTopic(ctx, e.bridge.Self(), spec)
		switch {
		case err == nil:
			return "made"
		case bridge.IsExists(err):
			return "there already"
		default:
			return changeClass(err)
		}
	}
}

func (e *faultEnv) deleteAttempt(t *testing.T) attempt {
	e.batches++
	top, err := e.direct.CreateTopic(t.Context(), e.direct.Self(), bridge.TopicSpec{Name: fmt.Sprintf("deleted-%d", e.batches), Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, _ time.Time) string {
		err := e.bridge.DeleteTopic(ctx, e.bridge.Self(), top)
		switch {
		case err == nil:
			return "deleted"
		case bridge.IsNotFound(err):
			return "gone already"
		default:
			return changeClass(err)
		}
	}
}

// changeClass is what somebody who changes topics acts on. Whether what was surely not done failed at its deadline or before is
// open.
func changeClass(err error) string {
	var refused *bridge.StatusError
	switch {
	case bridge.IsUnknownOutcome(err):
		return perhapsDone
	case bridge.IsRetryable(err):
		return retryable
	case errors.As(err, &refused):
		return "error: " + refused.Error()
	default:
		return "error: " + err.Error()
	}
}

const perhapsDone = "error: perhaps done"

// openAttempt opens a bridge whose stream does not exist yet.
func (e *faultEnv) openAttempt(*testing.T) attempt {
	e.batches++
	cfg := e.config
	cfg.Names = bridge.NewNames(fmt.Sprintf("stream-%d", e.batches))
	return func(ctx context.Context, _ time.Time) string {
		b, err := bridge.Open(ctx, cfg)
		if err != nil {
			return changeClass(err)
		}
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		b.Close(closing)
		return "opened"
	}
}

// newsAttempt watches a topic that somebody else writes to.
func (e *faultEnv) newsAttempt(t *testing.T) attempt {
	return func(ctx context.Context, _ time.Time) string {
		e.directAppend(t)
		bounds, err := e.direct.Bounds(t.Context(), e.topic)
		if err != nil {
			return err.Error()
		}
		watch := e.bridge.Watch([]*bridge.Topic{e.topic})
		defer watch.Close()
		for {
			if known, ok := e.bridge.KnownBounds(e.topic, 0); ok && known.Next == bounds[0].Next {
				return "news"
			}
			select {
			case <-watch.News():
			case <-ctx.Done():
				return "no news"
			}
		}
	}
}
