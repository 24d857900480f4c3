// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Kind is what a rate is of.
type Kind uint8

const (
	Produced Kind = iota // bytes of Produce requests
	Fetched              // bytes of Fetch answers
	kinds
)

// Kinds are all there are.
func Kinds() []Kind { return []Kind{Produced, Fetched} }

// String is Kafka's key of such a quota (QuotaConfig).
func (k Kind) String() string {
	if k == Produced {
		return "producer_byte_rate"
	}
	return "consumer_byte_rate"
}

// ParseKind finds the kind of a key.
func ParseKind(key string) (Kind, bool) {
	i := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.String() == key })
	return Kind(max(i, 0)), i >= 0
}

// Rates are an entity's, in bytes per second. 0: there is none of that kind.
type Rates [kinds]float64

// Quota is what one entity is held to.
type Quota struct {
	Entity Entity
	Rates  Rates
}

// limits are all quotas at one version of the store. They do not change.
type limits struct {
	version  uint64
	byEntity map[Entity]Rates
	any      [kinds]bool // there is a quota of the kind
}

// newLimits takes in what is stored. What it does not understand it leaves out, and returns as errors.
func newLimits(version uint64, stored map[string]map[string]string) (*limits, []error) {
	l := &limits{version: version, byEntity: make(map[Entity]Rates, len(stored))}
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		e, err := parseKey(key)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		var rates Rates
		for _, name := range slices.Sorted(maps.Keys(stored[key])) {
			kind, ok := ParseKind(name)
			rate, err := strconv.ParseFloat(stored[key][name], 64)
			if !ok || err != nil || !(rate > 0) {
				faults = append(faults, fmt.Errorf("quotas: %s: no rate: %s=%q", key, name, stored[key][name]))
				continue
			}
			rates[kind] = rate
			l.any[kind] = true
		}
		l.byEntity[e] = rates
	}
	return l, faults
}

// values are rates as they are stored.
func (r Rates) values() map[string]string {
	values := map[string]string{}
	for _, kind := range Kinds() {
		if r[kind] > 0 {
			values[kind.String()] = strconv.FormatFloat(r[kind], 'f', -1, 64)
		}
	}
	return values
}

// share is the clients that share one rate: those of a user, of a client id, or of both.
type share struct{ user, clientID string }

// find returns the rate that a client is held to, and with whom. It looks for quotas in the order that
// ClientQuotaManager.DefaultQuotaCallback has; those that name a client id do not apply to a client without one.
func (l *limits) find(kind Kind, user, clientID string) (rate float64, with share, ok bool) {
	both, alone := share{user, clientID}, share{user: user}
	for _, step := range [...]struct {
		of   Entity
		with share
	}{
		{Entity{Named(user), Named(clientID)}, both},
		{Entity{Named(user), Default()}, both},
		{Entity{User: Named(user)}, alone},
		{Entity{Default(), Named(clientID)}, both},
		{Entity{Default(), Default()}, both},
		{Entity{User: Default()}, alone},
		{Entity{ClientID: Named(clientID)}, share{clientID: clientID}},
		{Entity{ClientID: Default()}, share{clientID: clientID}},
	} {
		if step.of.ClientID.IsSet() && clientID == "" {
			continue
		}
		if rate := l.byEntity[step.of][kind]; rate > 0 {
			return rate, step.with, true
		}
	}
	return 0, share{}, false
}
