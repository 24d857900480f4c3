// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// folder is where runs are kept.
const folder = "../../bin/soak"

// runLimit bounds a run; it is a bug of the run itself when it is reached.
const runLimit = 4 * time.Minute

// TestSoak is the checker's: see the package's documentation for its environment.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	runs, seed := setting(t, "SOAK_RUNS", 10), setting(t, "SOAK_SEED", rand.Uint64N(1e9))
	t.Logf("%d runs, the first one's seed is %d", runs, seed)
	bin, err := harness.Build(t.Context(), "steppedclock")
	if err != nil {
		t.Fatal(err)
	}
	java := PrepareJava(t.Context())
	switch {
	case java == nil:
	case os.Getenv("REQUIRE_JAVA") == "true":
		t.Fatal(java)
	default:
		t.Logf("without java: %v", java)
	}
	total := &total{}
	defer func() { t.Log(total) }()
	t.Run("seeds", func(t *testing.T) {
		for n := range runs {
			plan := draw(seed + n)
			if java != nil {
				plan = plan.Without(Java)
			}
			t.Run(fmt.Sprint(plan.Seed), func(t *testing.T) {
				t.Parallel()
				check(t, plan, bin, total)
			})
		}
	})
}

// TestMain silences Iggy's SDK, which logs through the log package whenever it connects.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	m.Run()
}

// TestRealServer is there to say why no real server takes part.
func TestRealServer(t *testing.T) {
	if os.Getenv("IGGY_SERVER_BIN") == "" {
		t.Skip("IGGY_SERVER_BIN does not name an Iggy server: TestSoak goes without it")
	}
}

// draw draws a plan among what is there; every fourth seed takes the real server, if there is one.
func draw(seed uint64) Plan {
	topology := Topology(os.Getenv("SOAK_TOPOLOGY"))
	if topology == "" && os.Getenv("IGGY_SERVER_BIN") != "" && seed%4 == 0 {
		topology = Real
	}
	return NewPlan(seed, topology)
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// check carries a plan out and looks at what it has shown.
func check(t *testing.T, plan Plan, bin harness.Binaries, total *total) *History {
	t.Log(plan)
	dir, err := filepath.Abs(filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", "-")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	begin := time.Now()
	history, counts, problem := Execute(ctx, plan, bin, dir)
	var verdict Verdict
	if history != nil && history.Log != nil {
		verdict = Check(history)
	}
	for _, fault := range verdict.Faults {
		t.Error(fault)
	}
	if problem != nil {
		t.Error(problem)
	}
	t.Logf("seed %d in %.1fs: %v; %v", plan.Seed, time.Since(begin).Seconds(), verdict, counts)
	total.add(verdict, counts, t.Failed())
	switch {
	case t.Failed():
		if err := Keep(dir, plan, history, verdict, problem); err != nil {
			t.Error(err)
		}
		t.Logf("%s keeps the history and the logs; the plan again: make soak RUNS=1 SEED=%d", dir, plan.Seed)
	case os.Getenv("SOAK_KEEP") != "true":
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	return history
}

// total sums the runs up.
type total struct {
	mu           sync.Mutex
	runs, failed int
	verdict      Verdict
	counts       Counts
}

func (s *total) add(v Verdict, c Counts, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	if failed {
		s.failed++
	}
	s.verdict.Acked += v.Acked
	s.verdict.Stored += v.Stored
	s.verdict.Read += v.Read
	s.verdict.Excused += v.Excused
	s.verdict.Broken += v.Broken
	s.verdict.Back += v.Back
	s.counts.Add(c)
}

func (s *total) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d runs, %d failed: %v; %v", s.runs, s.failed, s.verdict, s.counts)
}

// A plan follows from its seed alone.
func TestPlan(t *testing.T) {
	topologies := map[Topology]int{}
	for seed := range uint64(200) {
		plan := NewPlan(seed, "")
		if a, b := plan.String(), NewPlan(seed, "").String(); a != b {
			t.Fatalf("the same seed gives\n%s\nand\n%s", a, b)
		}
		topologies[plan.Topology]++
		if plan.Without(Java).Needs(Java) {
			t.Errorf("seed %d: still needs java", seed)
		}
		if len(plan.Faults) == 0 {
			t.Errorf("seed %d: nothing happens", seed)
		}
	}
	for _, topology := range []Topology{Embedded, Separate, Losing} {
		if topologies[topology] < 20 {
			t.Errorf("%s: %d of 200", topology, topologies[topology])
		}
	}
}

// What a producer is promised follows from what its library keeps.
func TestGuarantee(t *testing.T) {
	for _, test := range []struct {
		plan ProducerPlan
		want Guarantee
	}{
		{ProducerPlan{Library: FranzGo, Idempotent: true, InFlight: 5}, Once},
		{ProducerPlan{Library: Sarama, Idempotent: true, InFlight: 1}, Once},
		{ProducerPlan{Library: SDK}, Once},
		{ProducerPlan{Library: FranzGo, InFlight: 1}, InOrder},
		{ProducerPlan{Library: Java, InFlight: 1}, InOrder},
		{ProducerPlan{Library: Sarama, InFlight: 1}, AtLeastOnce},
		{ProducerPlan{Library: Java, InFlight: 5}, AtLeastOnce},
	} {
		if got := test.plan.guarantee(); got != test.want {
			t.Errorf("%v: %v, want %v", test.plan, got, test.want)
		}
	}
}
