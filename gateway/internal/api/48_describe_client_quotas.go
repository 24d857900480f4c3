// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeClientQuotas (48), v0-1: the quotas whose entities match a filter (KIP-546). v1: flexible.

// Types of an entity that a quota is for (org.apache.kafka.common.quota.ClientQuotaEntity). There are no quotas of addresses here.
const (
	quotaUser     = "user"
	quotaClientID = "client-id"
	quotaIP       = "ip"
)

const (
	matchExact   kmsg.QuotasMatchType = 0
	matchDefault kmsg.QuotasMatchType = 1
	matchAny     kmsg.QuotasMatchType = 2
)

// quotaBytes is what a quota takes in an answer beside its names.
const quotaBytes = 96

func (a *API) describeClientQuotas(ctx context.Context, conn *server.Conn, req *kmsg.DescribeClientQuotasRequest) (server.Reply, error) {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	resp.Version = req.Version
	if no := a.mayReadServers(ctx, conn); no != nil { // as on a broker, without a text
		resp.ErrorCode = no.code
		return server.NewReply(resp), nil
	}
	filter, no := newQuotaFilter(req)
	if no != nil {
		resp.ErrorCode, resp.ErrorMessage = no.code, &no.text
		return server.NewReply(resp), nil
	}
	if !a.awaitState(ctx) {
		resp.ErrorCode = coordinatorLoadInProgress
		return server.NewReply(resp), nil
	}
	resp.ErrorMessage = message("")
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	size := 0
	for _, q := range a.quotas.All() {
		if filter.matches(q.Entity) {
			resp.Entries = append(resp.Entries, describeQuota(q))
			size += quotaBytes + textSize(q.Entity.User) + textSize(q.Entity.ClientID)
		}
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NewReservedReply(resp, release), nil
}

// mayReadServers refuses clients that may not look at the cluster's settings.
func (a *API) mayReadServers(ctx context.Context, conn *server.Conn) *refusal {
	access, err := a.access(ctx, conn)
	switch {
	case err != nil:
		return a.refusalOf(opDescribeConfigs, err)
	case !access.MayReadServers():
		return refuse(clusterAuthFailed, textNoCluster)
	}
	return nil
}

// quotaFilter says which entities are asked for: ClientQuotasImage.describe.
type quotaFilter struct {
	by     map[string]quotaMatch // by type
	strict bool                  // of these types and no others
}

type quotaMatch struct {
	any  bool
	name quotas.Name
}

func newQuotaFilter(req *kmsg.DescribeClientQuotasRequest) (quotaFilter, *refusal) {
	f := quotaFilter{by: make(map[string]quotaMatch, len(req.Components)), strict: req.Strict}
	for i := range req.Components {
		c := &req.Components[i]
		if c.EntityType == "" {
			return f, refuse(invalidRequest, "Invalid empty entity type.")
		}
		if _, again := f.by[c.EntityType]; again {
			return f, refuse(invalidRequest, "Entity type %s cannot appear more than once in the filter.", c.EntityType)
		}
		switch c.EntityType {
		case quotaUser, quotaClientID, quotaIP:
		default:
			return f, refuse(unsupportedVersion, "Unsupported entity type %s", c.EntityType)
		}
		m, no := newQuotaMatch(c)
		if no != nil {
			return f, no
		}
		f.by[c.EntityType] = m
	}
	if _, ip := f.by[quotaIP]; ip && len(f.by) > 1 {
		return f, refuse(invalidRequest, "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.")
	}
	return f, nil
}

func newQuotaMatch(c *kmsg.DescribeClientQuotasRequestComponent) (quotaMatch, *refusal) {
	switch c.MatchType {
	case matchExact:
		if c.Match == nil {
			return quotaMatch{}, refuse(invalidRequest, "Request specified MATCH_TYPE_EXACT, but set match string to null.")
		}
		return quotaMatch{name: quotas.Named(*c.Match)}, nil
	case matchDefault:
		if c.Match != nil {
			return quotaMatch{}, refuse(invalidRequest, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
		}
		return quotaMatch{name: quotas.Default()}, nil
	case matchAny:
		if c.Match != nil {
			return quotaMatch{}, refuse(invalidRequest, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
		}
		return quotaMatch{any: true}, nil
	}
	return quotaMatch{}, refuse(invalidRequest, "Unknown match type %d", c.MatchType)
}

func (f quotaFilter) matches(e quotas.Entity) bool {
	types := 0
	for _, part := range [...]struct {
		kind string
		name quotas.Name
	}{{quotaUser, e.User}, {quotaClientID, e.ClientID}} {
		if part.name.IsSet() {
			types++
		}
		m, wanted := f.by[part.kind]
		if wanted && (!part.name.IsSet() || !m.any && m.name != part.name) {
			return false
		}
	}
	if _, ip := f.by[quotaIP]; ip {
		return false
	}
	return !f.strict || types == len(f.by)
}

func describeQuota(q quotas.Quota) kmsg.DescribeClientQuotasResponseEntry {
	out := kmsg.NewDescribeClientQuotasResponseEntry()
	add := func(kind string, name quotas.Name) {
		if !name.IsSet() {
			return
		}
		part := kmsg.NewDescribeClientQuotasResponseEntryEntity()
		part.Type = kind
		if text, named := name.Text(); named {
			part.Name = &text
		}
		out.Entity = append(out.Entity, part)
	}
	add(quotaClientID, q.Entity.ClientID)
	add(quotaUser, q.Entity.User)
	for _, kind := range quotas.Kinds() {
		if rate := q.Rates[kind]; rate > 0 {
			v := kmsg.NewDescribeClientQuotasResponseEntryValue()
			v.Key, v.Value = kind.String(), rate
			out.Values = append(out.Values, v)
		}
	}
	return out
}

func textSize(n quotas.Name) int {
	text, _ := n.Text()
	return len(text)
}
