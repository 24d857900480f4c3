// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// AlterClientQuotas (49), v0-1 (KIP-546). v1: flexible.
//
// Each entity answers for itself, once, however often it is named; one bad value leaves all of its entity's as they are.

const (
	alterQuotasTimeout = 10 * time.Second
	// alterTogether is how many quotas of one request are stored at a time: those that wait go out in one append.
	alterTogether = 64
)

// quotaAlteration is what a request asks of one entity, and what became of it.
type quotaAlteration struct {
	parts   map[string]*string // names by type; nil: the default
	ops     []kmsg.AlterClientQuotasRequestEntryOp
	again   bool // the request names it again
	entity  quotas.Entity
	rates   map[quotas.Kind]float64
	refused *refusal
}

func (a *API) alterClientQuotas(ctx context.Context, conn *server.Conn, req *kmsg.AlterClientQuotasRequest) (server.Reply, error) {
	alterations := quotaAlterations(req)
	size := 0
	for _, alter := range alterations {
		size += 2*quotaBytes + 2*len(alter.String()) // the entity, and a text that may name it
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	a.alterQuotas(ctx, conn, alterations, req.ValidateOnly)
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	resp.Version = req.Version
	for _, alter := range alterations {
		resp.Entries = append(resp.Entries, alter.answer())
	}
	return server.NewReservedReply(resp, release), nil
}

// quotaAlterations lists the entities of a request, each once. Of a type that an entity has twice the last name counts, as a
// broker reads it.
func quotaAlterations(req *kmsg.AlterClientQuotasRequest) []*quotaAlteration {
	var all []*quotaAlteration
	byName := map[string]*quotaAlteration{}
	for i := range req.Entries {
		in := &req.Entries[i]
		alter := &quotaAlteration{parts: make(map[string]*string, len(in.Entity)), ops: in.Ops}
		for _, part := range in.Entity {
			alter.parts[part.Type] = part.Name
		}
		if first := byName[alter.key()]; first != nil {
			first.again = true
			continue
		}
		byName[alter.key()] = alter
		all = append(all, alter)
	}
	return all
}

// types are those of the entity, in the order in which a broker shows them.
func (q *quotaAlteration) types() []string {
	return slices.SortedFunc(maps.Keys(q.parts), func(a, b string) int {
		return cmp.Or(-cmp.Compare(typeRank(a), typeRank(b)), cmp.Compare(a, b))
	})
}

func typeRank(kind string) int { return slices.Index([]string{quotaUser, quotaClientID}, kind) }

// key is the same for the same entity only.
func (q *quotaAlteration) key() string {
	var b strings.Builder
	for _, kind := range q.types() {
		if name := q.parts[kind]; name != nil {
			fmt.Fprintf(&b, "%q=%q,", kind, *name)
		} else {
			fmt.Fprintf(&b, "%q,", kind)
		}
	}
	return b.String()
}

// String is the entity as a broker writes it.
func (q *quotaAlteration) String() string {
	var parts []string
	for _, kind := range q.types() {
		name := "null"
		if q.parts[kind] != nil {
			name = *q.parts[kind]
		}
		parts = append(parts, kind+"="+name)
	}
	return "ClientQuotaEntity(entries={" + strings.Join(parts, ", ") + "})"
}

// alterQuotas does, or with validateOnly tries, what is asked.
func (a *API) alterQuotas(ctx context.Context, conn *server.Conn, all []*quotaAlteration, validateOnly bool) {
	ctx, cancel := context.WithTimeout(ctx, alterQuotasTimeout)
	defer cancel()
	no := a.mayAlterQuotas(ctx, conn)
	var group errgroup.Group
	group.SetLimit(alterTogether)
	for _, alter := range all {
		if alter.refused = no; no == nil {
			alter.refused = alter.parse()
		}
		switch {
		case alter.refused != nil:
		case validateOnly:
			alter.settle(a.quotas.Check(alter.entity, alter.rates))
		default:
			group.Go(func() error {
				alter.settle(a.quotas.Alter(ctx, alter.entity, alter.rates))
				return nil
			})
		}
	}
	_ = group.Wait() // every entity has its own error
}

// mayAlterQuotas says why the client may change none, or this gateway cannot.
func (a *API) mayAlterQuotas(ctx context.Context, conn *server.Conn) *refusal {
	access, err := a.access(ctx, conn)
	if err != nil {
		return a.refusalOf(opAlterConfigs, err)
	}
	if !access.MayManageServers() {
		return refuse(clusterAuthFailed, textNoCluster)
	}
	if a.Bridge != nil {
		a.awaitSettings(ctx) // the quotas are known with them
	}
	if !a.ownsState() {
		return refuse(notController, textNotController)
	}
	return nil
}

// parse takes in an entity and its values, in the order in which ClientQuotaControlManager looks at them.
func (q *quotaAlteration) parse() *refusal {
	named := make(map[string]struct{}, len(q.ops))
	for _, op := range q.ops {
		named[op.Key] = struct{}{}
	}
	if len(named) < len(q.ops) {
		return q.duplicate()
	}
	if no := q.parseEntity(); no != nil {
		return no
	}
	q.rates = make(map[quotas.Kind]float64, len(q.ops))
	for _, op := range q.ops {
		kind, known := quotas.ParseKind(op.Key)
		switch {
		case op.Remove && known:
			q.rates[kind] = 0
		case op.Remove: // there is none
		case !known:
			return refuse(invalidRequest, "Invalid configuration key %s", op.Key)
		default:
			if no := checkRate(op.Key, op.Value); no != nil {
				return no
			}
			q.rates[kind] = op.Value
		}
	}
	return nil
}

func (q *quotaAlteration) duplicate() *refusal {
	return refuse(invalidRequest, "Ignoring duplicate entity %v", q)
}

func (q *quotaAlteration) parseEntity() *refusal {
	if len(q.parts) == 0 {
		return refuse(invalidRequest, "Invalid empty client quota entity")
	}
	for _, kind := range q.types() {
		name := quotas.Default()
		switch text := q.parts[kind]; {
		case kind != quotaUser && kind != quotaClientID:
			return refuse(invalidRequest, "Unhandled client quota entity type: %s", kind)
		case text == nil:
		case *text == "":
			return refuse(invalidRequest, "Empty %s not supported", kind)
		case len(*text) > quotas.MaxName:
			return refuse(invalidRequest, "The %s is longer than %d bytes", kind, quotas.MaxName)
		default:
			name = quotas.Named(*text)
		}
		if kind == quotaUser {
			q.entity.User = name
		} else {
			q.entity.ClientID = name
		}
	}
	return nil
}

// checkRate: rates are whole numbers above 0, but for what comes of computing them.
func checkRate(key string, rate float64) *refusal {
	switch {
	case !(rate > 0): // no number is none, either
		return refuse(invalidRequest, "Quota %s must be greater than 0", key)
	case rate > math.MaxInt64:
		return refuse(invalidRequest, "Proposed value for %s is too large for a LONG.", key)
	case math.Mod(rate, 1) > 1e-6:
		return refuse(invalidRequest, "%s cannot be a fractional value.", key)
	}
	return nil
}

// settle notes what became of the alteration.
func (q *quotaAlteration) settle(err error) {
	switch {
	case errors.Is(err, quotas.ErrTooMany):
		q.refused = refuse(policyViolation, "There are quotas for %d entities, and there can be no more.", quotas.MaxQuotas)
	case err != nil: // it may still come
		q.refused = storeRefusal(err)
	}
}

func (q *quotaAlteration) answer() kmsg.AlterClientQuotasResponseEntry {
	out := kmsg.NewAlterClientQuotasResponseEntry()
	for _, kind := range q.types() {
		part := kmsg.NewAlterClientQuotasResponseEntryEntity()
		part.Type, part.Name = kind, q.parts[kind]
		out.Entity = append(out.Entity, part)
	}
	no := q.refused
	if q.again { // the first time counted
		no = q.duplicate()
	}
	if no != nil {
		out.ErrorCode, out.ErrorMessage = no.code, &no.text
	}
	return out
}
