// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entity(user, clientID Name) Entity { return Entity{user, clientID} }

func TestKeys(t *testing.T) {
	none := Name{}
	for _, tc := range []struct {
		entity Entity
		key    string
	}{
		{entity(Named("alice"), none), "user=alice"},
		{entity(Default(), none), "user=<default>"},
		{entity(none, Named("c")), "client-id=c"},
		{entity(Named("alice"), Default()), "user=alice&client-id=<default>"},
		{entity(Named("<default>"), Named("a=b&user=c d/%é")), "user=%3Cdefault%3E&client-id=a%3Db%26user%3Dc+d%2F%25%C3%A9"},
	} {
		if got := tc.entity.key(); got != tc.key {
			t.Errorf("%v: key %q, want %q", tc.entity, got, tc.key)
		}
		if got, err := parseKey(tc.key); err != nil || got != tc.entity {
			t.Errorf("%q: %v, %v", tc.key, got, err)
		}
	}
	for _, key := range []string{"", "user", "user=", "user=a&", "client-id=c&user=u", "user=a&user=b", "group=g", "user=%", "user=a b"} {
		if got, err := parseKey(key); !errors.Is(err, errKey) {
			t.Errorf("%q: %v, %v", key, got, err)
		}
	}
}

// Whatever a key says, it says it of one entity, which has that key.
func FuzzParseKey(f *testing.F) {
	for _, key := range []string{"user=alice", "user=%3Cdefault%3E&client-id=<default>", "client-id=a+b", "user=&client-id=", "user=%zz"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if e, err := parseKey(key); err == nil && e.key() != key {
			t.Errorf("%q: %v, whose key is %q", key, e, e.key())
		}
	})
}

// limitsOf makes limits of entities' rates.
func limitsOf(t *testing.T, rates map[Entity]Rates) *limits {
	t.Helper()
	stored := map[string]map[string]string{}
	for e, r := range rates {
		stored[e.key()] = r.values()
	}
	l, faults := newLimits(1, stored)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return l
}

// The order in which ClientQuotaManager looks for quotas: each of these counts for alice's client c until one above it is set.
func TestPrecedence(t *testing.T) {
	none, alice, c := Name{}, Named("alice"), Named("c")
	both, user, client := share{"alice", "c"}, share{user: "alice"}, share{clientID: "c"}
	steps := []struct {
		entity Entity
		with   share
	}{
		{entity(none, Default()), client},
		{entity(none, c), client},
		{entity(Default(), none), user},
		{entity(Default(), Default()), both},
		{entity(Default(), c), both},
		{entity(alice, none), user},
		{entity(alice, Default()), both},
		{entity(alice, c), both},
	}
	set := map[Entity]Rates{
		entity(Named("bob"), none): {Produced: 1e6}, entity(none, Named("d")): {Produced: 1e6}, // others'
		entity(alice, Named("e")): {Fetched: 1e6},
	}
	if rate, _, ok := limitsOf(t, set).find(Produced, "alice", "c"); ok {
		t.Errorf("others' quotas: %v", rate)
	}
	for i, step := range steps {
		set[step.entity] = Rates{Produced: float64(i + 1)}
		rate, with, ok := limitsOf(t, set).find(Produced, "alice", "c")
		if !ok || rate != float64(i+1) || with != step.with {
			t.Errorf("%v: rate %v with %+v, %v", step.entity, rate, with, ok)
		}
		if _, _, ok := limitsOf(t, set).find(Fetched, "alice", "c"); ok {
			t.Errorf("%v: a rate of the other kind", step.entity)
		}
	}
	// Who has no client id is held to its user's quota alone.
	if rate, with, ok := limitsOf(t, set).find(Produced, "alice", ""); !ok || rate != 6 || with != user {
		t.Errorf("without a client id: %v %+v %v", rate, with, ok)
	}
	if rate, with, ok := limitsOf(t, set).find(Produced, "carol", ""); !ok || rate != 3 || with != (share{user: "carol"}) {
		t.Errorf("without a client id, by default: %v %+v %v", rate, with, ok)
	}
	delete(set, entity(Default(), none))
	if rate, _, ok := limitsOf(t, set).find(Produced, "carol", ""); ok {
		t.Errorf("without a client id, by no quota of users: %v", rate)
	}
}

func TestStoredFaults(t *testing.T) {
	l, faults := newLimits(7, map[string]map[string]string{
		"user=a": {"producer_byte_rate": "5", "consumer_byte_rate": "x", "request_percentage": "1"},
		"user=b": {"producer_byte_rate": "-1"},
		"what":   {"producer_byte_rate": "5"},
		"user=c": {"consumer_byte_rate": "NaN"},
	})
	if len(faults) != 5 {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
	want := map[Entity]Rates{entity(Named("a"), Name{}): {Produced: 5}, entity(Named("b"), Name{}): {}, entity(Named("c"), Name{}): {}}
	if diff := cmp.Diff(want, l.byEntity, cmp.AllowUnexported(Name{})); diff != "" {
		t.Error(diff)
	}
	if l.any != [kinds]bool{Produced: true} {
		t.Error(l.any)
	}
}

// naiveRate is what Rate and SampledStat of org.apache.kafka.common.metrics.stats say, word by word and without economy.
type naiveRate struct {
	samples []*sample
	current int
}

func (r *naiveRate) record(v float64, now int64) {
	if len(r.samples) == 0 {
		r.samples = append(r.samples, &sample{start: now})
	}
	if now-r.samples[r.current].start >= 1000 {
		r.current = (r.current + 1) % 12
		if r.current >= len(r.samples) {
			r.samples = append(r.samples, &sample{})
		}
		*r.samples[r.current] = sample{start: now, last: now}
	}
	r.samples[r.current].bytes += v
	r.samples[r.current].last = now
}

func (r *naiveRate) measure(now int64) (total float64, length int64) {
	for _, s := range r.samples {
		if now-s.last >= 11*1000 {
			*s = sample{start: now, last: now}
		}
	}
	oldest := r.samples[0]
	for _, s := range r.samples {
		total += s.bytes
		if s.start < oldest.start {
			oldest = s
		}
	}
	elapsed := now - oldest.start
	if full := elapsed / 1000; full < 10 {
		elapsed += (10 - full) * 1000
	}
	return total, max(elapsed, 1)
}

func TestRateAgainstNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var r rate
		var naive naiveRate
		for now := int64(rng.IntN(5000)); now < 60_000; now += int64(rng.IntN(1 << rng.IntN(14))) {
			bytes := float64(rng.IntN(100_000))
			r.add(bytes, now)
			naive.record(bytes, now)
			gotBytes, gotLength := r.measure(now)
			if wantBytes, wantLength := naive.measure(now); gotBytes != wantBytes || gotLength != wantLength {
				t.Fatalf("at %d: %v in %d ms, want %v in %d ms", now, gotBytes, gotLength, wantBytes, wantLength)
			}
		}
	}
}
