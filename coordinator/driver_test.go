// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// startDriver runs a driver until the test ends, or until stop. It is loaded, unless a slowStore has not been told to load.
func startDriver(t *testing.T, cfg coordinator.DriverConfig) (d *coordinator.Driver, stop func()) {
	t.Helper()
	if cfg.MaxGroups == 0 {
		cfg.Config = coordinator.DefaultConfig()
		cfg.InitialRebalanceDelay = 0
	}
	unique := 0
	cfg.NewID = func() string { unique++; return fmt.Sprint(unique) }
	d, err := coordinator.NewDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	store, slow := cfg.Store.(*slowStore)
	loads := !slow || len(store.loading) > 0
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	if loads {
		<-d.Loaded()
	}
	return d, stop
}

func joinAs(client string) coordinator.Join {
	return coordinator.Join{
		ClientID: client, SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range", Metadata: []byte(client)}},
	}
}

func offsetOf(partition int32, offset int64) []coordinator.OffsetCommit {
	return []coordinator.OffsetCommit{{TopicPartition: coordinator.TopicPartition{Topic: "t", Partition: partition}, Offset: offset}}
}

// await runs f beside the test; the function that it returns waits for what f returned.
func await[T any](f func() (T, error)) func() (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	return func() (T, error) {
		o := <-done
		return o.value, o.err
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func TestDriverRebalancesByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		d, stop := startDriver(t, coordinator.DriverConfig{Observe: func(e coordinator.Effect) { seen = append(seen, e.String()) }})
		ctx := t.Context()
		a := must[coordinator.JoinResult](t)(d.Join(ctx, "g", joinAs("a")))
		must[coordinator.SyncResult](t)(d.Sync(ctx, "g", coordinator.Sync{MemberID: a.MemberID, Generation: 1}))

		started := time.Now()
		b := must[coordinator.JoinResult](t)(d.Join(ctx, "g", joinAs("b")))
		if waited := time.Since(started); waited != 10*time.Second {
			t.Errorf("b waited %v for a's session of 10s to end", waited)
		}
		want := coordinator.JoinResult{
			MemberID: "b-2", Generation: 2, ProtocolType: "consumer", ProtocolName: "range", Leader: "b-2",
			Members: []coordinator.JoinedMember{{MemberID: "b-2", Metadata: []byte("b")}},
		}
		if diff := cmp.Diff(want, b); diff != "" {
			t.Errorf("join (-want +got):\n%s", diff)
		}
		wantErr(t, "a's heartbeat", d.Heartbeat(ctx, "g", coordinator.Heartbeat{MemberID: a.MemberID, Generation: 1}), coordinator.ErrUnknownMemberID)
		stop()
		wantSeen := []string{
			"g: Dead -> Empty, generation 0: first member",
			"g: Empty -> PreparingRebalance, generation 0: member a-1 joined",
			"g: PreparingRebalance -> CompletingRebalance, generation 1: all members joined",
			"g: CompletingRebalance -> Stable, generation 1: leader assigned",
			"g: Stable -> PreparingRebalance, generation 1: member b-2 joined",
			"g: member a-1 removed: session expired",
			"g: PreparingRebalance -> CompletingRebalance, generation 2: all members joined",
		}
		if diff := cmp.Diff(wantSeen, seen); diff != "" {
			t.Errorf("observed (-want +got):\n%s", diff)
		}
	})
}

// The deadline that counts is the earliest, also if it was set after a later one.
func TestDriverTimerMovesForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := startDriver(t, coordinator.DriverConfig{})
		ctx := t.Context()
		slow := joinAs("slow")
		slow.SessionTimeout = time.Minute
		must[coordinator.JoinResult](t)(d.Join(ctx, "slow", slow))
		must[coordinator.JoinResult](t)(d.Join(ctx, "fast", joinAs("a")))
		started := time.Now()
		must[coordinator.JoinResult](t)(d.Join(ctx, "fast", joinAs("b")))
		if waited := time.Since(started); waited != 10*time.Second {
			t.Errorf("b waited %v for a's session of 10s to end", waited)
		}
	})
}

// slowStore ends writes when it is told to, from another goroutine than the driver's.
type slowStore struct {
	*coordinator.MemoryStore
	loading chan error
	loaded  chan struct{} // closed when Load returns
	writes  chan func(error)
}

func newSlowStore() *slowStore {
	return &slowStore{coordinator.NewMemoryStore(), make(chan error, 1), make(chan struct{}), make(chan func(error), 10)}
}

func (s *slowStore) Load(ctx context.Context, fn func(string, coordinator.Change) error) error {
	defer close(s.loaded)
	select {
	case err := <-s.loading:
		return errors.Join(err, s.MemoryStore.Load(ctx, fn))
	case <-ctx.Done():
		time.Sleep(time.Millisecond) // it takes a while to notice
		return ctx.Err()
	}
}

func (s *slowStore) Append(group string, changes []coordinator.Change, done func(error)) {
	s.writes <- func(err error) {
		if err != nil {
			done(err)
			return
		}
		s.MemoryStore.Append(group, changes, done)
	}
}

func TestDriverAnswersCommitsWhenTheyAreDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		store.loading <- nil
		d, _ := startDriver(t, coordinator.DriverConfig{Store: store})
		ctx := t.Context()
		commit := func(offset int64) func() (coordinator.CommitResult, error) {
			wait := await(func() (coordinator.CommitResult, error) {
				return d.Commit(ctx, "g", coordinator.Commit{Generation: -1, Offsets: offsetOf(0, offset)})
			})
			synctest.Wait()
			return wait
		}
		position := func() int64 {
			query := []coordinator.OffsetQuery{{TopicPartition: coordinator.TopicPartition{Topic: "t"}}}
			return must[[]coordinator.OffsetResult](t)(d.Offsets(ctx, "g", query))[0].Offset
		}

		first, second := commit(1), commit(2)
		if got := position(); got != -1 {
			t.Errorf("offset is %d while its commit is being written", got)
		}
		(<-store.writes)(nil)
		if got := must[coordinator.CommitResult](t)(first()); len(got.Errs) != 1 || got.Errs[0] != nil {
			t.Errorf("first commit: %v", got)
		}
		(<-store.writes)(errors.New("disk full"))
		_, err := second()
		wantErr(t, "second commit", err, coordinator.ErrNotAvailable)
		if got := position(); got != 1 {
			t.Errorf("offset is %d after a commit of 1 and a lost one of 2", got)
		}
	})
}

func TestDriverWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		saved := coordinator.Snapshot{Generation: 7, ProtocolType: "consumer", Protocol: "range", Leader: "a"}
		for _, id := range []string{"a", "b"} {
			saved.Members = append(saved.Members, coordinator.MemberSnapshot{
				MemberID: id, SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
				Protocols: []coordinator.Protocol{{Name: "range"}},
			})
		}
		store.MemoryStore.Append("g", []coordinator.Change{coordinator.GroupSaved{Snapshot: saved}}, func(error) {})
		d, _ := startDriver(t, coordinator.DriverConfig{Store: store})
		ctx := t.Context()

		_, err := d.Join(ctx, "g", joinAs("b"))
		wantErr(t, "join", err, coordinator.ErrLoadInProgress)
		_, err = d.Offsets(ctx, "g", nil)
		wantErr(t, "offsets", err, coordinator.ErrLoadInProgress)
		wantErr(t, "drop topic", d.DropTopic(ctx, coordinator.DropTopic{Topic: "t"}), coordinator.ErrLoadInProgress)
		beat := coordinator.Heartbeat{MemberID: "a", Generation: 7}
		wantErr(t, "heartbeat", d.Heartbeat(ctx, "g", beat), nil)

		// Sessions start anew when the state is there. The one of b, who is silent, ends too.
		time.Sleep(time.Minute)
		store.loading <- nil
		time.Sleep(9 * time.Second)
		wantErr(t, "heartbeat after loading", d.Heartbeat(ctx, "g", beat), nil)
		time.Sleep(time.Second)
		wantErr(t, "heartbeat after b's session", d.Heartbeat(ctx, "g", beat), coordinator.ErrRebalanceInProgress)
	})
}

func TestDriverLoadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		broken := errors.New("broken log")
		store.loading <- broken
		d, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig(), Store: store})
		if err != nil {
			t.Fatal(err)
		}
		wantErr(t, "Run", d.Run(t.Context()), broken)
		_, err = d.List(t.Context(), coordinator.Filter{})
		wantErr(t, "List", err, coordinator.ErrNotAvailable)
	})
}

func TestDriverStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := startDriver(t, coordinator.DriverConfig{})
		ctx := t.Context()
		a := must[coordinator.JoinResult](t)(d.Join(ctx, "g", joinAs("a")))
		must[coordinator.SyncResult](t)(d.Sync(ctx, "g", coordinator.Sync{MemberID: a.MemberID, Generation: 1}))
		join := await(func() (coordinator.JoinResult, error) { return d.Join(ctx, "g", joinAs("b")) })
		synctest.Wait()
		stop()
		_, err := join()
		wantErr(t, "waiting join", err, coordinator.ErrNotAvailable)
		wantErr(t, "later request", d.Delete(ctx, "g"), coordinator.ErrNotAvailable)
	})
}

// Run does not return before Load has: its owner may close the store then.
func TestDriverStopsWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		_, stop := startDriver(t, coordinator.DriverConfig{Store: store})
		synctest.Wait()
		stop()
		select {
		case <-store.loaded:
		default:
			t.Error("Run has returned, and Load runs")
		}
	})
}

// The end of the context is no failure to load, even if the store says so first.
func TestDriverStopsBeforeLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := coordinator.NewMemoryStore()
	store.Append("g", []coordinator.Change{coordinator.OffsetCommitted{}}, func(error) {})
	for range 100 { // which of the two the driver sees first is up to chance
		d, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig(), Store: store})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(ctx); err != nil {
			t.Fatalf("Run: %v", err)
		}
	}
}

// A caller that gives up leaves its member in the group, and an answer that nobody takes.
func TestDriverCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := startDriver(t, coordinator.DriverConfig{})
		ctx := t.Context()
		must[coordinator.JoinResult](t)(d.Join(ctx, "g", joinAs("a")))
		impatient, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := d.Join(impatient, "g", joinAs("b"))
		wantErr(t, "join", err, context.DeadlineExceeded)
		wantErr(t, "request with an ended context", d.Delete(impatient, "g"), context.DeadlineExceeded)
		time.Sleep(9 * time.Second)
		members := must[coordinator.Description](t)(d.Describe(ctx, "g")).Members
		if len(members) != 1 || members[0].MemberID != "b-2" {
			t.Errorf("members after a's session: %v", members)
		}
	})
}

func TestDriverAdministers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coordinator.NewMemoryStore()
		d, stop := startDriver(t, coordinator.DriverConfig{Store: store})
		ctx := t.Context()
		for p := range int32(3) {
			must[coordinator.CommitResult](t)(d.Commit(ctx, "g", coordinator.Commit{Generation: -1, Offsets: offsetOf(p, 5)}))
		}
		must[coordinator.CommitResult](t)(d.Commit(ctx, "h", coordinator.Commit{Generation: -1, Offsets: offsetOf(0, 5)}))
		_, err := d.DeleteOffsets(ctx, "g", coordinator.DeleteOffsets{Partitions: []coordinator.TopicPartition{{Topic: "t", Partition: 1}}})
		wantErr(t, "delete offsets", err, nil)
		wantErr(t, "delete", d.Delete(ctx, "h"), nil)
		left, err := d.Leave(ctx, "g", coordinator.Leave{Members: []coordinator.Identity{{MemberID: "nobody"}}})
		wantErr(t, "leave", err, nil)
		wantErr(t, "leave of nobody", left.Members[0].Err, coordinator.ErrUnknownMemberID)
		stop()

		d, _ = startDriver(t, coordinator.DriverConfig{Store: store})
		got := must[[]coordinator.OffsetResult](t)(d.Offsets(ctx, "g", nil))
		if len(got) != 2 || got[0].Partition != 0 || got[1].Partition != 2 {
			t.Errorf("offsets after a restart: %+v", got)
		}
		list := must[[]coordinator.Listing](t)(d.List(ctx, coordinator.Filter{}))
		if diff := cmp.Diff([]coordinator.Listing{{ID: "g", State: coordinator.Empty, Type: coordinator.TypeClassic}}, list); diff != "" {
			t.Errorf("groups after a restart (-want +got):\n%s", diff)
		}
		wantErr(t, "drop topic", d.DropTopic(ctx, coordinator.DropTopic{Topic: "t"}), nil)
		synctest.Wait()
		if got := must[[]coordinator.OffsetResult](t)(d.Offsets(ctx, "g", nil)); len(got) != 0 {
			t.Errorf("offsets of a dropped topic: %+v", got)
		}
		_, err = d.Describe(ctx, "h")
		wantErr(t, "describe", err, coordinator.ErrGroupIDNotFound)
	})
}

// Many callers at once, for the race detector: each runs a group of its own and commits to a shared one.
func TestDriverConcurrently(t *testing.T) {
	d, _ := startDriver(t, coordinator.DriverConfig{})
	ctx := t.Context()
	var callers sync.WaitGroup
	for n := range int32(16) {
		callers.Go(func() {
			group := fmt.Sprint("g", n)
			j, err := d.Join(ctx, group, joinAs("a"))
			wantErr(t, "join", err, nil)
			_, err = d.Sync(ctx, group, coordinator.Sync{MemberID: j.MemberID, Generation: j.Generation})
			wantErr(t, "sync", err, nil)
			for range 50 {
				wantErr(t, "heartbeat", d.Heartbeat(ctx, group, coordinator.Heartbeat{MemberID: j.MemberID, Generation: j.Generation}), nil)
				_, err := d.Commit(ctx, "shared", coordinator.Commit{Generation: -1, Offsets: offsetOf(n, 1)})
				wantErr(t, "commit", err, nil)
			}
		})
	}
	callers.Wait()
	if got := must[[]coordinator.OffsetResult](t)(d.Offsets(ctx, "shared", nil)); len(got) != 16 {
		t.Errorf("%d offsets, want 16", len(got))
	}
}

// When another coordinator has taken over, who waits is told so, and so is everybody who comes.
func TestDriverFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := make(chan struct{})
		store := newSlowStore()
		store.loading <- nil
		d, stop := startDriver(t, coordinator.DriverConfig{Store: store, Fenced: fenced})
		defer stop()
		ctx := t.Context()
		a := must[coordinator.JoinResult](t)(d.Join(ctx, "g", joinAs("a")))
		sync := await(func() (coordinator.SyncResult, error) {
			return d.Sync(ctx, "g", coordinator.Sync{MemberID: a.MemberID, Generation: 1})
		})
		synctest.Wait()
		close(fenced)
		_, err := sync()
		wantErr(t, "the sync that waited", err, coordinator.ErrNotCoordinator)
		wantErr(t, "a heartbeat", d.Heartbeat(ctx, "g", coordinator.Heartbeat{MemberID: a.MemberID, Generation: 1}), coordinator.ErrNotCoordinator)
		_, err = d.Offsets(ctx, "g", nil)
		wantErr(t, "offsets", err, coordinator.ErrNotCoordinator)
		wantErr(t, "drop topic", d.DropTopic(ctx, coordinator.DropTopic{Topic: "t"}), coordinator.ErrNotCoordinator)
		time.Sleep(time.Hour) // neither timers nor the end of the write wake anything
	})
}

// Who is fenced before it has loaded refuses too.
func TestDriverFencedWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := make(chan struct{})
		store := newSlowStore()
		d, stop := startDriver(t, coordinator.DriverConfig{Store: store, Fenced: fenced})
		defer stop()
		close(fenced)
		synctest.Wait()
		wantErr(t, "a heartbeat", d.Heartbeat(t.Context(), "g", coordinator.Heartbeat{}), coordinator.ErrNotCoordinator)
		store.loading <- coordinator.ErrNotCoordinator
		synctest.Wait()
		wantErr(t, "a heartbeat", d.Heartbeat(t.Context(), "g", coordinator.Heartbeat{}), coordinator.ErrNotCoordinator)
	})
}
