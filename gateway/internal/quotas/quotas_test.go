// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newQuotas(t testing.TB, store Store) *Quotas {
	t.Helper()
	return New(store, slog.New(slog.DiscardHandler))
}

func alter(t testing.TB, q *Quotas, e Entity, change map[Kind]float64) {
	t.Helper()
	if err := q.Alter(t.Context(), e, change); err != nil {
		t.Fatal(err)
	}
}

var slow = Entity{ClientID: Named("slow")}

// What a broker said that was held to 1,000 bytes/s: 13,549 bytes are throttled for 3,549 ms, and the same again after those for
// 16,541 ms.
func TestThrottleAsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(t, new(Memory))
		alter(t, q, slow, map[Kind]float64{Produced: 1000})
		if got := q.Produced("u", "slow", 13_549, time.Now()); got != 3549*time.Millisecond {
			t.Errorf("first: %v", got)
		}
		if got := q.Produced("u", "other", 13_549, time.Now()); got != 0 {
			t.Errorf("a client without a quota: %v", got)
		}
		time.Sleep(3557 * time.Millisecond)
		if got := q.Produced("u", "slow", 13_549, time.Now()); got != 16_541*time.Millisecond {
			t.Errorf("second: %v", got)
		}
		time.Sleep(time.Hour)
		if got := q.Produced("u", "slow", 9_999, time.Now()); got != 0 {
			t.Errorf("after a rest: %v", got)
		}
	})
}

// A producer that waits as it is told sends at its rate, and no slower.
func TestRateIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(t, new(Memory))
		alter(t, q, slow, map[Kind]float64{Produced: 1 << 20})
		sent, began := 0, time.Now()
		for time.Since(began) < 5*time.Minute {
			sent += 200_000
			time.Sleep(max(q.Produced("u", "slow", 200_000, time.Now()), time.Millisecond))
		}
		rate := float64(sent) / time.Since(began).Seconds() / (1 << 20)
		if rate < 0.85 || rate > 1.15 { // the first window comes at once
			t.Errorf("%.2f of the rate", rate)
		}
	})
}

// All connections of an entity share its rate; those of another client id do not.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(t, new(Memory))
		alter(t, q, Entity{User: Named("u")}, map[Kind]float64{Produced: 1000})
		alter(t, q, Entity{ClientID: Default()}, map[Kind]float64{Produced: 1000})
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() { q.Produced("u", fmt.Sprint(i), 1000, time.Now()) })
		}
		all.Wait()
		if got := q.Produced("u", "last", 1, time.Now()); got != time.Millisecond {
			t.Errorf("the user's eleventh client: %v", got)
		}
		if got := q.Produced("v", "0", 10_000, time.Now()); got != 0 {
			t.Errorf("another user's client: %v", got)
		}
	})
}

func TestFetchThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(t, new(Memory))
		if most := q.FetchMax("u", "slow"); most != math.MaxInt {
			t.Errorf("without a quota: at most %d", most)
		}
		alter(t, q, slow, map[Kind]float64{Fetched: 1000})
		if most := q.FetchMax("u", "slow"); most != 10_000 {
			t.Errorf("at most %d", most)
		}
		if throttle, ok := q.Fetched("u", "slow", 10_072, time.Now()); ok || throttle != 72*time.Millisecond {
			t.Errorf("a little too much: %v, %v", throttle, ok)
		}
		time.Sleep(72 * time.Millisecond) // what was refused does not count, but the window has begun
		if throttle, ok := q.Fetched("u", "slow", 10_072, time.Now()); !ok || throttle != 0 {
			t.Errorf("after the wait: %v, %v", throttle, ok)
		}
		if throttle, ok := q.Fetched("u", "slow", 100, time.Now()); ok || throttle != 100*time.Millisecond {
			t.Errorf("more: %v, %v", throttle, ok)
		}
		// One record larger than any window has room for comes once the window is empty, and is waited for.
		if throttle, ok := q.Fetched("u", "slow", 50_000, time.Now()); ok || throttle < 10*time.Second {
			t.Errorf("a huge one behind others: %v, %v", throttle, ok)
		}
		time.Sleep(11 * time.Second)
		if throttle, ok := q.Fetched("u", "slow", 50_000, time.Now()); !ok || throttle != 40*time.Second {
			t.Errorf("a huge one alone: %v, %v", throttle, ok)
		}
		if throttle, ok := q.Fetched("u", "slow", 50_000, time.Now()); ok || throttle < 80*time.Second {
			t.Errorf("and another: %v, %v", throttle, ok)
		}
	})
}

func TestThrottleIsBounded(t *testing.T) {
	q := newQuotas(t, new(Memory))
	alter(t, q, slow, map[Kind]float64{Produced: 1})
	if got := q.Produced("u", "slow", 100<<20, time.Now()); got != maxThrottle {
		t.Error(got)
	}
}

// Who makes up client ids takes no more memory than maxShares of them, and the others' rates are still measured.
func TestSharesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(t, new(Memory))
		alter(t, q, Entity{ClientID: Default()}, map[Kind]float64{Produced: 1000})
		for i := range maxShares {
			q.Produced("u", fmt.Sprint("idle", i), 1, time.Now())
		}
		time.Sleep(11 * time.Second)
		q.Produced("u", "busy", 20_000, time.Now())
		if n := len(q.traffic[Produced].rates); n != 1 {
			t.Errorf("%d rates after all but one were idle", n)
		}
		for i := range 2 * maxShares {
			q.Produced("u", fmt.Sprint("new", i), 1, time.Now())
		}
		if n := len(q.traffic[Produced].rates); n != maxShares {
			t.Errorf("%d rates", n)
		}
		alter(t, q, Entity{ClientID: Default()}, map[Kind]float64{Produced: 0})
		if q.Produced("u", "busy", 1, time.Now()) != 0 || len(q.traffic[Produced].rates) != 0 {
			t.Error("rates are measured without a quota")
		}
	})
}

func TestAlter(t *testing.T) {
	store := new(Memory)
	q := newQuotas(t, store)
	u := Entity{User: Named("u")}
	alter(t, q, u, map[Kind]float64{Produced: 5, Fetched: 7})
	alter(t, q, u, map[Kind]float64{Fetched: 8})
	alter(t, q, slow, map[Kind]float64{Fetched: 1e18})
	alter(t, q, Entity{User: Default()}, map[Kind]float64{Produced: 3})
	want := []Quota{{slow, Rates{Fetched: 1e18}}, {u, Rates{5, 8}}, {Entity{User: Default()}, Rates{Produced: 3}}}
	unexported := cmp.AllowUnexported(Name{})
	if diff := cmp.Diff(want, q.All(), unexported); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, newQuotas(t, store).All(), unexported); diff != "" {
		t.Errorf("read again: %s", diff)
	}
	version := store.QuotasVersion()
	alter(t, q, u, map[Kind]float64{Produced: 5})
	alter(t, q, Entity{User: Named("absent")}, map[Kind]float64{Produced: 0})
	alter(t, q, u, nil)
	if store.QuotasVersion() != version {
		t.Error("something was stored that changes nothing")
	}
	alter(t, q, u, map[Kind]float64{Produced: 0, Fetched: 0})
	if got := q.All(); len(got) != 2 {
		t.Error(got)
	}
}

func TestTooMany(t *testing.T) {
	store := new(Memory)
	for i := range MaxQuotas {
		_ = store.SetQuota(t.Context(), Entity{User: Named(fmt.Sprint(i))}.key(), Rates{Produced: 1}.values())
	}
	q := newQuotas(t, store)
	one := map[Kind]float64{Fetched: 1}
	if err := q.Alter(t.Context(), slow, one); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if err := q.Check(slow, one); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if err := q.Check(slow, map[Kind]float64{Fetched: 0}); err != nil {
		t.Errorf("nothing to remove: %v", err)
	}
	alter(t, q, Entity{User: Named("7")}, one) // one that is there may be changed
	alter(t, q, Entity{User: Named("7")}, map[Kind]float64{Produced: 0, Fetched: 0})
	alter(t, q, slow, one)
}

// slowStore takes a second for each change, and any number at a time.
type slowStore struct{ Memory }

func (s *slowStore) SetQuota(ctx context.Context, key string, values map[string]string) error {
	select {
	case <-time.After(time.Second):
		return s.Memory.SetQuota(ctx, key, values)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Changes of many entities are stored together; those of one come one after the other, and nothing is lost of either.
func TestAlterTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(t, new(slowStore))
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { alter(t, q, Entity{User: Named(fmt.Sprint(i))}, map[Kind]float64{Produced: 1}) })
		}
		all.Wait()
		if took := time.Since(begun); took != time.Second || len(q.All()) != 100 {
			t.Errorf("%d after %v", len(q.All()), took)
		}
		all.Go(func() { alter(t, q, slow, map[Kind]float64{Produced: 1}) })
		all.Go(func() { alter(t, q, slow, map[Kind]float64{Fetched: 2}) })
		all.Wait()
		if took := time.Since(begun); took != 3*time.Second || q.current().byEntity[slow] != (Rates{1, 2}) {
			t.Errorf("%v after %v", q.current().byEntity[slow], took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		all.Go(func() { alter(t, q, slow, map[Kind]float64{Produced: 3}) })
		synctest.Wait()
		if err := q.Alter(ctx, slow, map[Kind]float64{Produced: 4}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		all.Wait()
		if len(q.altering.held) != 0 || q.altering.adding != 0 {
			t.Errorf("%d are held, %d are added", len(q.altering.held), q.altering.adding)
		}
	})
}

// failing stores nothing, or not yet.
type failing struct {
	Memory
	err error
}

func (f *failing) SetQuota(context.Context, string, map[string]string) error { return f.err }

func TestStoreFails(t *testing.T) {
	store := &failing{err: errors.New("down")}
	q := newQuotas(t, store)
	if err := q.Alter(t.Context(), slow, map[Kind]float64{Produced: 1}); !errors.Is(err, store.err) {
		t.Error(err)
	}
	if q.Produced("u", "slow", 1<<20, time.Now()) != 0 {
		t.Error("a quota that is not stored has an effect")
	}
	// What was given up on comes after all, and is noticed.
	_ = store.Memory.SetQuota(t.Context(), slow.key(), Rates{Produced: 1}.values())
	if q.Produced("u", "slow", 1<<20, time.Now()) == 0 {
		t.Error("a quota that came later has no effect")
	}
}

func TestConcurrent(t *testing.T) {
	q := newQuotas(t, new(Memory))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				who := fmt.Sprint(n % 5)
				switch i % 4 {
				case 0:
					_ = q.Alter(t.Context(), Entity{ClientID: Named(who)}, map[Kind]float64{Kind(n % 2): float64(n % 3)})
				case 1:
					q.Produced("u", who, n, time.Now())
				case 2:
					q.FetchMax("u", who)
					q.Fetched("u", who, n, time.Now())
				case 3:
					q.All()
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkProduced is what a request costs where there is no quota, where there are quotas of others, and where it counts.
func BenchmarkProduced(b *testing.B) {
	others := Entity{User: Named("x"), ClientID: Named("y")}
	for _, bench := range []struct {
		name string
		set  map[Entity]Rates
	}{
		{"none", nil},
		{"consumers", map[Entity]Rates{slow: {Fetched: 1}}},
		{"others", map[Entity]Rates{others: {Produced: 1}}},
		{"counted", map[Entity]Rates{slow: {Produced: 1e15}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			store := new(Memory)
			for e, r := range bench.set {
				_ = store.SetQuota(b.Context(), e.key(), r.values())
			}
			q := newQuotas(b, fixed{store})
			q.reload()
			b.ReportAllocs()
			for b.Loop() {
				q.Produced("ANONYMOUS", "slow", 1024, q.began)
			}
		})
	}
}

// fixed is a store whose version is looked at as cheaply as the state log's.
type fixed struct{ *Memory }

func (fixed) QuotasVersion() uint64 { return 1 }

// However many are added at the same time, there are no more than there may be.
func TestTooManyAtOnce(t *testing.T) {
	m := &Memory{}
	for i := range MaxQuotas - 50 {
		m.SetQuota(t.Context(), Entity{User: Named(fmt.Sprint("u", i))}.key(), map[string]string{"producer_byte_rate": "1"})
	}
	q := New(m, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := range 20 {
				if err := q.Alter(t.Context(), Entity{User: Named(fmt.Sprint("n", w, "-", i))}, map[Kind]float64{Produced: 1}); err != nil && !errors.Is(err, ErrTooMany) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(m.Quotas()); n > MaxQuotas {
		t.Errorf("%d quotas, at most %d", n, MaxQuotas)
	}
}
