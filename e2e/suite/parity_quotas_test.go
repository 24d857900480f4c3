// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// quotaScripts are about the quotas of clients.
func quotaScripts() []script {
	return []script{
		{key: kmsg.DescribeClientQuotas.Int16(), run: (*parity).describeClientQuotas, asked: always(nil, kerr.InvalidRequest, kerr.UnsupportedVersion)},
		{key: kmsg.AlterClientQuotas.Int16(), run: (*parity).alterClientQuotas, asked: always(nil, kerr.InvalidRequest)},
	}
}

const (
	producerRate = "producer_byte_rate"
	consumerRate = "consumer_byte_rate"
)

// quotaEntity is who a quota is for: names by type, nil for the default.
type quotaEntity map[string]*string

// setRates asks for rates of an entity, 0 to remove one.
func setRates(e quotaEntity, rates map[string]float64) kmsg.AlterClientQuotasRequestEntry {
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for _, kind := range slices.Sorted(maps.Keys(e)) {
		entry.Entity = append(entry.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: e[kind]})
	}
	for _, key := range slices.Sorted(maps.Keys(rates)) {
		entry.Ops = append(entry.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: rates[key], Remove: rates[key] == 0})
	}
	return entry
}

func alterQuotasRequest(entries ...kmsg.AlterClientQuotasRequestEntry) *kmsg.AlterClientQuotasRequest {
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Version, req.Entries = 1, entries
	return req
}

// describeEntity asks for the quota of one entity.
func describeEntity(e quotaEntity) *kmsg.DescribeClientQuotasRequest {
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Version, req.Strict = 1, true
	for kind, name := range e {
		c := kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, Match: name}
		if name == nil {
			c.MatchType = 1
		}
		req.Components = append(req.Components, c)
	}
	return req
}

// setQuota sets rates and waits until they count: a broker takes a moment.
func (s *transcript) setQuota(e quotaEntity, rates map[string]float64) {
	s.t.Helper()
	if made := askRaw[*kmsg.AlterClientQuotasResponse](s.t, s.conn, alterQuotasRequest(setRates(e, rates))).Entries[0]; made.ErrorCode != 0 {
		s.t.Fatalf("quota of %v: code %d", e, made.ErrorCode)
	}
	s.awaitQuota(e, rates)
}

func (s *transcript) awaitQuota(e quotaEntity, rates map[string]float64) {
	s.t.Helper()
	if !await(s.t, func() bool {
		left := map[string]float64{}
		for key, rate := range rates {
			if rate != 0 {
				left[key] = rate
			}
		}
		for _, entry := range askRaw[*kmsg.DescribeClientQuotasResponse](s.t, s.conn, describeEntity(e)).Entries {
			for _, v := range entry.Values {
				if rate, asked := rates[v.Key]; asked && v.Value != rate {
					return false
				}
				delete(left, v.Key)
			}
		}
		return len(left) == 0
	}) {
		s.t.Fatalf("the quota of %v does not come to count", e)
	}
}

func (p *parity) describeClientQuotas() {
	user, client := p.group("alice"), p.group("app")
	const large = 1e15 // nobody is held up by the defaults, which are everybody's
	for i, e := range []quotaEntity{
		{"user": &user}, {"client-id": &client}, {"user": &user, "client-id": &client},
		{"user": &user, "client-id": nil}, {"user": nil, "client-id": &client}, {"user": nil}, {"client-id": nil}, {"user": nil, "client-id": nil},
	} {
		rates := map[string]float64{producerRate: large + float64(i)}
		if i%2 == 0 {
			rates[consumerRate] = large
		}
		p.setQuota(e, rates)
		defer p.setQuota(e, map[string]float64{producerRate: 0, consumerRate: 0})
	}
	// ask leaves out what is others'.
	ask := func(step string, components ...kmsg.DescribeClientQuotasRequestComponent) {
		p.t.Helper()
		for _, strict := range []bool{false, true} {
			req := kmsg.NewPtrDescribeClientQuotasRequest()
			req.Version, req.Components, req.Strict = p.version, components, strict
			resp, err := p.conn.Ask(within(p.t, limit), req)
			if answer, ok := resp.(*kmsg.DescribeClientQuotasResponse); ok {
				answer.Entries = slices.DeleteFunc(answer.Entries, func(e kmsg.DescribeClientQuotasResponseEntry) bool {
					return slices.ContainsFunc(e.Entity, func(part kmsg.DescribeClientQuotasResponseEntryEntity) bool {
						return part.Name != nil && *part.Name != user && *part.Name != client
					})
				})
			}
			p.note(fmt.Sprintf("%s, strict %t", step, strict), req, resp, err)
		}
	}
	of := func(kind string, match kmsg.QuotasMatchType, name *string) kmsg.DescribeClientQuotasRequestComponent {
		return kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, MatchType: match, Match: name}
	}
	const exact, fallback, any = 0, 1, 2
	ask("all")
	for _, kind := range []string{"user", "client-id"} {
		name := map[string]*string{"user": &user, "client-id": &client}[kind]
		ask("any "+kind, of(kind, any, nil))
		ask("the default "+kind, of(kind, fallback, nil))
		ask("a "+kind, of(kind, exact, name))
		ask("no "+kind, of(kind, exact, named("nobody")))
		ask("an empty "+kind, of(kind, exact, named("")))
	}
	ask("a user with any client-id", of("user", exact, &user), of("client-id", any, nil))
	ask("any user with a client-id", of("user", any, nil), of("client-id", exact, &client))
	ask("both defaults", of("client-id", fallback, nil), of("user", fallback, nil))
	ask("addresses", of("ip", any, nil))
	ask("an address", of("ip", exact, named("127.0.0.1")))
	ask("addresses and users", of("ip", any, nil), of("user", any, nil))
	ask("one without a name", of("user", exact, nil))
	ask("a default with a name", of("user", fallback, &user))
	ask("any with a name", of("user", any, &user))
	ask("a match of type 3", of("user", 3, nil))
	ask("a type twice", of("user", any, nil), of("user", fallback, nil))
	ask("an unknown type", of("group", any, nil))
	ask("an empty type", of("", any, nil))
	ask("a fault behind an unknown type", of("group", 3, nil), of("user", exact, nil))
}

func (p *parity) alterClientQuotas() {
	a, b, user := p.group("app"), p.group("other"), p.group("alice")
	app, other, alice := quotaEntity{"client-id": &a}, quotaEntity{"client-id": &b}, quotaEntity{"user": &user, "client-id": &a}
	for _, e := range []quotaEntity{app, other, alice} {
		defer p.setQuota(e, map[string]float64{producerRate: 0, consumerRate: 0})
	}
	ask := func(step string, entries ...kmsg.AlterClientQuotasRequestEntry) {
		p.t.Helper()
		p.step(step, alterQuotasRequest(entries...))
	}
	show := func(e quotaEntity, rates map[string]float64) {
		p.t.Helper()
		p.awaitQuota(e, rates)
		p.ask("afterwards", describeEntity(e))
	}
	rate := func(e quotaEntity, key string, rate float64) kmsg.AlterClientQuotasRequestEntry {
		entry := setRates(e, nil)
		entry.Ops = append(entry.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: rate})
		return entry
	}
	ask("nothing")
	ask("a rate", rate(app, producerRate, 1000))
	show(app, map[string]float64{producerRate: 1000})
	ask("both of one, another's", setRates(app, map[string]float64{producerRate: 2000, consumerRate: 3000}), setRates(alice, map[string]float64{producerRate: 4000}))
	show(app, map[string]float64{producerRate: 2000, consumerRate: 3000})
	show(alice, map[string]float64{producerRate: 4000})
	ask("one of both is removed", setRates(app, map[string]float64{producerRate: 0}))
	show(app, map[string]float64{producerRate: 0, consumerRate: 3000})
	ask("no change", setRates(app, nil))
	ask("what is not there is removed", setRates(other, map[string]float64{producerRate: 0}))
	ask("what nobody knows is removed", setRates(app, map[string]float64{"nonsense": 0}))
	ask("what nobody knows is set", rate(app, "nonsense", 1))
	for _, value := range []float64{0, -1, 0.5, 1000.5, 1000.0000001, 1e30, math.MaxInt64, math.Inf(1)} {
		ask(fmt.Sprintf("a rate of %v", value), rate(app, producerRate, value))
	}
	both := rate(app, producerRate, 5000)
	both.Ops = append(both.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: consumerRate, Value: -1})
	ask("one right, one wrong; another's", both, rate(other, producerRate, 5000))
	show(other, map[string]float64{producerRate: 5000})
	both.Ops[1] = kmsg.AlterClientQuotasRequestEntryOp{Key: producerRate, Remove: true}
	ask("a key twice", both)
	ask("an entity twice", rate(app, producerRate, 6000), rate(app, consumerRate, 7000))
	show(app, map[string]float64{producerRate: 6000})
	ask("an entity twice, wrong and right", rate(app, producerRate, 0), rate(app, consumerRate, 7000))

	validate := alterQuotasRequest(rate(other, consumerRate, 8000), rate(app, "nonsense", 1))
	validate.ValidateOnly = true
	p.step("only to be validated", validate)
	ask("only for the next to come last", rate(alice, consumerRate, 9000))
	show(alice, map[string]float64{consumerRate: 9000})
	show(other, map[string]float64{producerRate: 5000})

	entity := func(parts ...kmsg.AlterClientQuotasRequestEntryEntity) kmsg.AlterClientQuotasRequestEntry {
		entry := rate(nil, producerRate, 1000)
		entry.Entity = parts
		return entry
	}
	part := func(kind string, name *string) kmsg.AlterClientQuotasRequestEntryEntity {
		return kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: name}
	}
	ask("of nobody", entity())
	ask("of an unknown type", entity(part("group", named("g"))))
	ask("of an empty type", entity(part("", named("g"))))
	ask("of an empty name", entity(part("client-id", named(""))))
	ask("of an empty user", entity(part("client-id", &a), part("user", named(""))))
	ask("of a type twice", entity(part("client-id", &a), part("client-id", &b)))

	noEffect := "what would have no effect is refused"
	for _, key := range []string{"request_percentage", "controller_mutation_rate"} {
		p.stepValidate(key, rate(app, key, 200), difference{"ErrorCode=0", fmt.Sprintf("ErrorCode=42 ErrorMessage=%q", "Invalid configuration key "+key), noEffect})
	}
	ask("connection_creation_rate", rate(app, "connection_creation_rate", 200))
	p.stepValidate("an address", rate(quotaEntity{"ip": named("127.0.0.1")}, "connection_creation_rate", 5),
		difference{"ErrorCode=0", `ErrorCode=42 ErrorMessage="Unhandled client quota entity type: ip"`, noEffect})
}

// stepValidate asks without the change.
func (p *parity) stepValidate(step string, entry kmsg.AlterClientQuotasRequestEntry, accepted ...difference) {
	p.t.Helper()
	req := alterQuotasRequest(entry)
	req.ValidateOnly = true
	p.step(step, req, accepted...)
}
