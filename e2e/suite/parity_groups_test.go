// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupScripts are about groups as a whole.
func groupScripts() []script {
	return []script{
		{
			key: kmsg.FindCoordinator.Int16(), groups: true, run: (*parity).findCoordinator, also: []int16{1, 4, 5},
			asked: slices.Concat(always(nil), since(1, kerr.InvalidRequest)),
		},
		{
			key: kmsg.DescribeGroups.Int16(), groups: true, run: (*parity).describeGroups, also: []int16{3},
			asked: slices.Concat(always(nil), since(6, kerr.GroupIDNotFound)),
		},
		{key: kmsg.ListGroups.Int16(), groups: true, run: (*parity).listGroups, also: []int16{1, 4}, asked: always(nil)},
		{
			key: kmsg.DeleteGroups.Int16(), groups: true, run: (*parity).deleteGroups,
			asked: always(nil, kerr.NonEmptyGroup, kerr.GroupIDNotFound),
		},
	}
}

// transactionsRefused is what the page of differences says of them.
const transactionsRefused = "FindCoordinator answers `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`"

func (p *parity) findCoordinator() {
	find := func(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = kind, keys
		for _, key := range keys {
			req.CoordinatorKey = key
		}
		return req
	}
	group := p.group("group")
	share := group + ":AAAAAAAAAAAAAAAAAAAAAA:0"
	p.names[strconv.Quote(share)] = `"group:topic:partition"`
	for kind, key := range map[int8]string{1: group, 2: share} {
		made := find(kind, key)
		made.Version = 6
		await(p.t, func() bool { // a broker makes the coordinators' topics when they are first asked for
			told := p.quietly(made).(*kmsg.FindCoordinatorResponse).Coordinators[0]
			return told.ErrorCode != kerr.CoordinatorNotAvailable.Code
		})
	}
	p.step("of a group", find(0, group))
	p.step("of an empty name", find(0, ""))
	const none, refused = `NodeID=-1 Host="" Port=-1`, "transactions are not supported"
	transactions := difference{`ErrorCode=0 ErrorMessage="NONE" NodeID=1 Host=HOST Port=PORT`, `ErrorCode=53 ErrorMessage="` + refused + `" ` + none, transactionsRefused}
	if p.version >= 4 {
		transactions = difference{`NodeID=1 Host=HOST Port=PORT ErrorCode=0 ErrorMessage=""`, none + ` ErrorCode=53 ErrorMessage="` + refused + `"`, transactionsRefused}
	}
	p.step("of a transaction", find(1, group), p.onlySince(1, transactions)...)
	for _, kind := range []int8{2, 9, -1} {
		p.step(fmt.Sprintf("of type %d", kind), find(kind, group))
	}
	p.step("of a share partition", find(2, share), p.onlySince(6, difference{
		`NodeID=1 Host=HOST Port=PORT ErrorCode=0 ErrorMessage=""`, none + ` ErrorCode=42 ErrorMessage=""`, "there are no share groups",
	})...)
	if p.version < 4 {
		return
	}
	p.step("of three groups, one of them twice", find(0, group, p.group("other"), group))
	p.step("of two, of type 9", find(9, group, p.group("other")))
	p.step("of none", find(0))
}

func (p *parity) describeGroups() {
	p.step("one that never was", describeGroupsRequest(p.version, p.group("none")))
	commit := p.commit(p.group("offsets alone"), p.topic.name, 1)
	commit.Version = 8
	p.quietly(commit)
	p.step("one of offsets alone, twice", describeGroupsRequest(p.version, commit.Group, commit.Group))
	p.withNameless(func() { p.step("of an empty name", describeGroupsRequest(p.version, "")) })
	p.step("none", describeGroupsRequest(p.version))
	pending, completing, stable := p.pending("pending"), p.completing("completing"), p.stable("stable")
	preparing, _ := p.preparing("preparing")
	static, connect := p.stableStatic("static", "instance"), p.stableOf("connect", "connect")
	p.step("in every state", describeGroupsRequest(p.version, pending.group, completing.group, stable.group, preparing.group, static.group, connect.group))
	leader, follower := p.pair("pair")
	p.quietly(syncRequest(5, leader, leader.id, "leader's", follower.id, "follower's"))
	p.step("two members", describeGroupsRequest(p.version, leader.group))
	p.allLeave(leader.group, leader.id, follower.id)
	p.step("once both have left", describeGroupsRequest(p.version, leader.group))
	allowed := describeGroupsRequest(p.version, stable.group, p.group("none"))
	allowed.IncludeAuthorizedOperations = true
	p.step("what is allowed", allowed)
}

func (p *parity) listGroups() {
	// list leaves out the groups of others.
	list := func(step string, states, types []string) {
		p.t.Helper()
		req := kmsg.NewPtrListGroupsRequest()
		req.Version, req.StatesFilter, req.TypesFilter = p.version, states, types
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.ListGroupsResponse); ok {
			all := answer.Groups
			answer.Groups = nil
			for _, g := range all {
				if p.names[strconv.Quote(g.Group)] != "" {
					answer.Groups = append(answer.Groups, g)
				}
			}
		}
		p.note(step, req, resp, err)
	}
	if p.first {
		commit := p.commit(p.group("offsets alone"), p.topic.name, 1)
		commit.Version = 8
		p.quietly(commit)
		p.pending("pending")
		p.completing("completing")
		p.stable("stable")
		p.stableOf("connect", "connect")
		p.preparing("preparing")
		left := p.stable("left")
		p.allLeave(left.group, left.id)
	}
	list("all", nil, nil)
	if p.version >= 4 {
		for _, states := range [][]string{{"Stable"}, {"stable", "EMPTY"}, {" Stable "}, {"PreparingRebalance"}, {"CompletingRebalance"}, {"Dead"}, {"Assigning", "Reconciling"}, {"nonsense"}, {"nonsense", "Stable"}, {""}} {
			list(fmt.Sprintf("in states %q", states), states, nil)
		}
	}
	if p.version >= 5 {
		for _, types := range [][]string{{"classic"}, {"CLASSIC"}, {"consumer"}, {"share"}, {"nonsense"}, {"nonsense", "classic"}, {" classic "}, {""}} {
			list(fmt.Sprintf("of types %q", types), nil, types)
		}
		list("of a state and a type", []string{"Empty"}, []string{"classic"})
	}
}

func (p *parity) deleteGroups() {
	remove := func(groups ...string) *kmsg.DeleteGroupsRequest {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = groups
		return req
	}
	offsets := func() string {
		commit := p.commit(p.group("offsets alone"), p.topic.name, 1)
		commit.Version = 8
		p.quietly(commit)
		return commit.Group
	}
	stable, pending := p.stable("stable"), p.pending("pending")
	preparing, _ := p.preparing("preparing")
	p.step("one of offsets alone", remove(offsets()))
	p.step("one of each state", remove(stable.group, p.completing("completing").group, preparing.group, p.group("none")))
	p.step("one whose only member has not joined", remove(pending.group))
	p.step("it again", remove(pending.group))
	again := offsets()
	p.step("one twice", remove(again, again))
	p.withNameless(func() { p.step("of an empty name", remove("")) })
	p.step("none", remove())
	p.allLeave(stable.group, stable.id)
	p.step("one whose members have left", remove(stable.group))
	kept := p.committed(again, p.topic.name, 0)
	kept.Version = 7
	p.ask("nothing is kept", kept)
}
