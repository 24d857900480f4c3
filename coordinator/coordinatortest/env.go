// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package coordinatortest runs stories about groups that are written as text: commands with what they answer, in the
// form of github.com/cockroachdb/datadriven. A story has a clock of its own, clients that remember their member id and
// generation, and a store that can be held up, made to fail and restarted from.
package coordinatortest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// Env is the world of one story. It is for one goroutine.
type Env struct {
	cfg         coordinator.Config
	groups      *coordinator.Groups
	store       *coordinator.MemoryStore
	start, now  time.Time
	clients     map[string]*client
	requests    map[coordinator.RequestID]sent
	lastRequest coordinator.RequestID
	lastUnique  int
	// held are writes that the store has not ended yet; holding says that it keeps them.
	held    []coordinator.Write
	holding bool
	out     strings.Builder
}

// client is somebody who sends requests: what it last joined with, and what that told it.
type client struct {
	joined       coordinator.Join
	memberID     string
	generation   int32
	protocolType string
	protocol     string
}

// sent is a request that waits for its answer.
type sent struct {
	client, command string
	to              *client
	join            coordinator.Join
}

// New returns a world with nothing in it. The initial rebalance delay is zero.
func New() *Env {
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	e := &Env{
		cfg:      cfg,
		store:    coordinator.NewMemoryStore(),
		start:    time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		clients:  map[string]*client{},
		requests: map[coordinator.RequestID]sent{},
	}
	e.now = e.start
	e.groups = coordinator.NewGroups(cfg)
	return e
}

// commands are all commands of a story. Each is in a file of its own.
func (e *Env) commands() map[string]func(*testing.T, *datadriven.TestData) error {
	return map[string]func(*testing.T, *datadriven.TestData) error{
		"advance":        e.advance,
		"commit":         e.commit,
		"config":         e.config,
		"delete":         e.delete,
		"delete-offsets": e.deleteOffsets,
		"describe":       e.describe,
		"drop-topic":     e.dropTopic,
		"fetch":          e.fetch,
		"heartbeat":      e.heartbeat,
		"join":           e.join,
		"leave":          e.leave,
		"list":           e.list,
		"restart":        e.restart,
		"store":          e.storeCommand,
		"sync":           e.sync,
	}
}

// Run runs one command and returns what came of it, one line per effect.
func (e *Env) Run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	command := e.commands()[d.Cmd]
	if command == nil {
		d.Fatalf(t, "no such command: %s", d.Cmd)
	}
	if err := command(t, d); err != nil {
		d.Fatalf(t, "%v", err)
	}
	out := e.out.String()
	e.out.Reset()
	return out
}

func (e *Env) printf(format string, args ...any) {
	fmt.Fprintf(&e.out, format+"\n", args...)
}

// step applies an event to the command's group and does what comes of it.
func (e *Env) step(group string, event coordinator.Event) {
	e.perform("", e.groups.Step(e.now, group, event))
}

// perform does what groups want done, as a Driver does.
func (e *Env) perform(prefix string, effects []coordinator.Effect) {
	for _, effect := range effects {
		switch f := effect.(type) {
		case coordinator.Reply:
			e.printf("%s%s", prefix, e.answer(f))
		case coordinator.Write:
			if e.holding {
				e.printf("%s%v", prefix, f)
				e.held = append(e.held, f)
				continue
			}
			e.store.Append(f.Group, f.Changes, func(err error) {
				e.perform(prefix, e.groups.Step(e.now, f.Group, coordinator.Written{ID: f.ID, Err: err}))
			})
		default:
			e.printf("%s%v", prefix, effect)
		}
	}
}

// request registers a request of the client that the command names first, and returns its id.
func (e *Env) request(d *datadriven.TestData) coordinator.RequestID {
	e.lastRequest++
	s := sent{command: d.Cmd, client: "admin", to: &client{}}
	if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 {
		s.client, s.to = d.CmdArgs[0].Key, e.client(d)
	}
	e.requests[e.lastRequest] = s
	return e.lastRequest
}

// client returns the client that the command names first.
func (e *Env) client(d *datadriven.TestData) *client {
	name := d.CmdArgs[0].Key
	c := e.clients[name]
	if c == nil {
		c = &client{}
		e.clients[name] = c
	}
	return c
}

func (e *Env) unique() string {
	e.lastUnique++
	return fmt.Sprint(e.lastUnique)
}
