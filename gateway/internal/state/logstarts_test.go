// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// cutWorld is a partition that its gateway deletes from, others write to, and its server loses the end of.
type cutWorld struct {
	t     *testing.T
	iggy  *embedded.Server
	proxy *bridgetest.Proxy // before the gateway's bridge
	other *bridge.Bridge    // a program that knows nothing of log starts
	b     *bridge.Bridge
	state *State
	stop  func()

	written int
}

const cutTopic = "t"

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func newCutWorld(t *testing.T) *cutWorld {
	t.Helper()
	w := &cutWorld{t: t, iggy: startIggy(t)}
	var err error
	if w.proxy, err = bridgetest.StartProxy(w.iggy.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.proxy.Close)
	w.other = connect(t, w.iggy)
	create(t, w.other, cutTopic)
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// start starts a gateway's bridge and state.
func (w *cutWorld) start() {
	w.t.Helper()
	b, err := bridge.Open(w.t.Context(), bridge.Config{
		Addr: w.proxy.Addr(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), InternalTopics: []string{stateTopic},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := Start(w.t.Context(), Config{
		Groups: coordinator.DefaultConfig(), Bridge: b, Topic: stateTopic, Partitions: 1, Expiry: 90 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.b, w.state = b, s
	w.stop = func() {
		if err := s.Stop(); err != nil {
			w.t.Error(err)
		}
		b.Close(context.Background())
	}
}

func (w *cutWorld) topic(b *bridge.Bridge) *bridge.Topic {
	w.t.Helper()
	view, err := b.Topics(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	topic, ok := view.ByName(cutTopic)
	if !ok {
		w.t.Fatal("no topic")
	}
	return topic
}

// batch makes an append of n messages; each holds its number, from first on.
func (w *cutWorld) batch(b *bridge.Bridge, n int) (a *bridge.Append, first int) {
	ids := mapping.IDs{ProducerID: -1, Random: [10]byte{1}}
	binary.BigEndian.PutUint64(ids.Random[1:], uint64(w.written))
	first = w.written
	a = &bridge.Append{Session: b.Self(), Count: n, Deadline: time.Now().Add(10 * time.Second)}
	for i := range n {
		a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: ids.ID(i), Payload: fmt.Append(nil, w.written)})
		w.written++
	}
	return a, first
}

// again does what fails while a bridge takes the way to its server for broken, as it may for a second after that is mended, until
// it does not.
func again[R any](w *cutWorld, do func() (R, error)) (R, error) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got, err := do()
		if !bridge.IsRetryable(err) || bridge.IsUnknownOutcome(err) || time.Now().After(deadline) {
			return got, err
		}
	}
}

// write appends n messages in one send.
func (w *cutWorld) write(b *bridge.Bridge, n int) (bridge.Appended, error) {
	w.t.Helper()
	a, _ := w.batch(b, n)
	return again(w, func() (bridge.Appended, error) {
		once := *a
		if err := b.Append(w.topic(b), 0, &once); err != nil {
			w.t.Fatal(err)
		}
		return once.Wait(w.t.Context())
	})
}

// seen lists what clients of the gateway see: where the partition begins and ends, and the numbers of its records.
func (w *cutWorld) seen() string {
	w.t.Helper()
	topic := w.topic(w.b)
	bounds, err := again(w, func() ([]bridge.Bounds, error) { return w.b.Bounds(w.t.Context(), topic) })
	if err != nil {
		return err.Error()
	}
	if known, ok := w.b.KnownBounds(topic, 0); !ok || known.Start != bounds[0].Start || known.Next != bounds[0].Next {
		w.t.Errorf("known are %+v %v, asked for %+v", known, ok, bounds[0])
	}
	return fmt.Sprintf("%d..%d: %s", bounds[0].Start, bounds[0].Next, strings.Join(w.read(w.b, bounds[0].Start), " "))
}

// known is where the partition begins and ends as far as is known without asking.
func (w *cutWorld) known(told int64) string {
	bounds, ok := w.b.KnownBounds(w.topic(w.b), 0)
	switch {
	case !ok:
		return "nothing"
	case told >= 0 && told != bounds.Start:
		w.t.Errorf("told that the log begins at %d, it is %d", told, bounds.Start)
	}
	return fmt.Sprintf("%d..%d", bounds.Start, bounds.Next)
}

func (w *cutWorld) read(b *bridge.Bridge, from int64) (numbers []string) {
	w.t.Helper()
	m, err := again(w, func() (bridge.Messages, error) { return b.Read(w.t.Context(), b.Self(), w.topic(b), 0, from, 1<<20) })
	if err != nil {
		w.t.Fatal(err)
	}
	defer m.Release()
	for rest := m.Messages; len(rest) > 0; {
		msg, n, err := mapping.ParseMessage(rest)
		if err != nil {
			w.t.Fatal(err)
		}
		if int64(msg.Offset) >= from {
			numbers = append(numbers, string(msg.Payload))
		}
		rest = rest[n:]
	}
	return numbers
}

func (w *cutWorld) delete(before int64) (int64, error) {
	return again(w, func() (int64, error) {
		d := []bridge.Deletion{{Before: before}}
		w.b.DeleteRecords(w.t.Context(), w.topic(w.b), d)
		return d[0].LogStart, d[0].Err
	})
}

// cut takes the end of the partition away, and no connection, as a purge does.
func (w *cutWorld) cut(end uint64) {
	w.t.Helper()
	if err := w.iggy.Lose("kafka", cutTopic, 0, end); err != nil {
		w.t.Fatal(err)
	}
}

// lose takes the end of the partition away, as a server does that was killed: its connections are lost, too.
func (w *cutWorld) lose(end uint64) {
	w.t.Helper()
	w.cut(end)
	w.reconnect()
}

// reconnect cuts the gateway's connections, and returns when it has noticed.
func (w *cutWorld) reconnect() {
	w.t.Helper()
	w.proxy.Refuse(true)
	for {
		if _, err := w.b.TopicsWithin(w.t.Context(), 0); err != nil {
			break
		}
	}
	w.proxy.Refuse(false)
	for {
		_, err := w.b.TopicsWithin(w.t.Context(), 0)
		if err == nil {
			return
		}
		if !bridge.IsRetryable(err) {
			w.t.Fatal(err)
		}
	}
}

func (w *cutWorld) do(line string) string {
	w.t.Helper()
	name, argument, _ := strings.Cut(line, " ")
	n, err := strconv.ParseInt(argument, 10, 64)
	if argument != "" && err != nil {
		w.t.Fatal(err)
	}
	switch name {
	case "write":
		got, err := w.write(w.b, int(n))
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("at %d, known is %s\n%s", got.BaseOffset, w.known(got.LogStart), w.seen())
	case "native":
		if _, err := w.write(w.other, int(n)); err != nil {
			w.t.Fatal(err)
		}
		return ""
	case "delete":
		start, err := w.delete(n)
		switch {
		case errors.Is(err, bridge.ErrOffsetOutOfRange):
			return "out of range"
		case err != nil:
			return err.Error()
		}
		return fmt.Sprintf("the log begins at %d\n%s", start, w.seen())
	case "lose":
		w.lose(uint64(n))
	case "cut":
		w.cut(uint64(n))
	case "reconnect":
		w.reconnect()
	case "restart":
		w.stop()
		w.start()
	case "poll":
		w.read(w.b, n)
		return "known is " + w.known(-1)
	case "see":
		return w.seen()
	default:
		w.t.Fatalf("no command %q", name)
	}
	return ""
}

// TestLogStarts runs testdata/*.txt: commands, and after ---- what they show, up to an empty line.
func TestLogStarts(t *testing.T) {
	files, err := filepath.Glob("testdata/logstarts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newCutWorld(t)
			for block := range strings.SplitSeq(string(text), "\n\n") {
				commands, want, _ := strings.Cut(strings.Trim(block, "\n"), "\n----\n")
				var got []string
				for line := range strings.Lines(commands) {
					line = strings.TrimSpace(line)
					if strings.HasPrefix(line, "#") || line == "----" {
						continue
					}
					if out := w.do(line); out != "" {
						got = append(got, out)
					}
				}
				if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
					t.Errorf("%s\n%s", commands, diff)
				}
			}
		})
	}
}
