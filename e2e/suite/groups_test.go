// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testGroups leads a group of each client through what happens to groups.
func testGroups(t *testing.T, target *harness.Target) {
	for _, program := range groupPrograms(t, target) {
		t.Run(program.String(), func(t *testing.T) {
			t.Parallel()
			testGroup(t, target, program)
		})
	}
}

func testGroup(t *testing.T, target *harness.Target, program group.Program) {
	g := newGroup(t, target, program)
	exercised := "group: join, join late, leave, killed"
	if program.Static {
		exercised += ", static restart"
	}
	defer func() { report(t, target, program.String(), g.version(t), exercised, !t.Failed()) }()
	g.start(t, "first")
	g.awaitSettled(t, "first")
	g.start(t, "second")
	g.awaitSettled(t, "first", "second")
	g.awaitProgress(t)
	g.start(t, "late")
	g.awaitSettled(t, "first", "second", "late")
	g.awaitProgress(t)
	g.leave(t, "second") // leaves
	g.awaitSettled(t, "first", "late")
	g.awaitProgress(t)
	g.kill("late") // its session must end first
	g.awaitSettled(t, "first")
	g.awaitProgress(t)
	if program.Static {
		testStaticRestart(t, g)
	}
	g.finish(t, "first")
}

// testStaticRestart kills a static member beside the first one and starts it again: nothing changes for anybody
// (KIP-345).
func testStaticRestart(t *testing.T, g *groupRun) {
	t.Helper()
	g.startStatic(t, "static", "instance")
	g.awaitSettled(t, "first", "static")
	g.awaitProgress(t)
	had, changes := g.ledger.assigned("static"), g.ledger.changes("first")
	g.kill("static")
	g.startStatic(t, "static again", "instance")
	g.awaitSettled(t, "first", "static again")
	g.awaitProgress(t)
	if has := g.ledger.assigned("static again"); !slices.Equal(has, had) {
		t.Errorf("a static member had the partitions %v before its restart and %v after it", had, has)
	}
	if n := g.ledger.changes("first") - changes; n != 0 {
		t.Errorf("the restart of a static member changed the other's assignment %d times", n)
	}
	g.leave(t, "static again") // does not leave
	leave := kadm.LeaveGroup(g.id).InstanceIDs("instance")
	if answers, err := kadm.NewClient(franz(t, g.addr)).LeaveGroup(within(t, limit), leave); err != nil || !answers.Ok() {
		t.Fatalf("removing the static member: %v, %v", answers, err)
	}
	g.awaitSettled(t, "first")
}

// testGroupRestarts stops and kills the gateway under groups of all clients. Members that are there go on, and one that
// comes after the last has closed resumes from what is committed.
func testGroupRestarts(t *testing.T, target *harness.Target) {
	if !target.Durable || target.Gateway == nil {
		t.Skip("keeps nothing over a restart, or is not ours to restart")
	}
	var groups []*groupRun
	for _, program := range groupPrograms(t, target) {
		g := newGroup(t, target, program)
		if program.Patient {
			g.session *= 5 // on a busy machine a restart may take longer than a session, which a client ends by itself then
		}
		groups = append(groups, g)
	}
	each := func(stage string, run func(t *testing.T, g *groupRun)) {
		for _, g := range groups {
			g.aim() // all at once: they go on while the first one is waited for
		}
		groups = slices.DeleteFunc(groups, func(g *groupRun) bool {
			passed := t.Run(stage+"/"+g.program.String(), func(t *testing.T) { run(t, g) })
			if !passed || stage == "resume" {
				report(t, target, g.program.String(), g.version(t), "group: gateway stopped, gateway killed, resume", passed)
			}
			return !passed
		})
	}
	each("start", func(t *testing.T, g *groupRun) { g.start(t, "first"); g.start(t, "second") })
	before := map[*groupRun]int{}
	each("joined", func(t *testing.T, g *groupRun) {
		g.awaitSettled(t, "first", "second")
		g.awaitGoal(t)
		before[g] = g.ledger.changes("first", "second")
	})
	if err := target.Gateway.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	startAgain(t, target.Gateway)
	each("stopped", func(t *testing.T, g *groupRun) { g.awaitGoal(t) })
	target.Gateway.Kill()
	startAgain(t, target.Gateway)
	each("killed", func(t *testing.T, g *groupRun) {
		g.awaitGoal(t)
		// The gateway keeps members and generation, and goes on with who asks like a member.
		if n := g.ledger.changes("first", "second") - before[g]; n != 0 && g.program.Patient {
			t.Errorf("the restarts of the gateway changed the members' assignments %d times", n)
		}
		g.awaitSettled(t, "first", "second")
		g.finish(t, "first", "second")
	})
	target.Gateway.Kill()
	startAgain(t, target.Gateway)
	each("resume", func(t *testing.T, g *groupRun) {
		g.feed(t)
		g.start(t, "after")
		g.awaitSettled(t, "after")
		g.awaitProgress(t)
		g.finish(t, "after")
	})
}

func startAgain(t *testing.T, program *harness.Program) {
	t.Helper()
	if err := program.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
