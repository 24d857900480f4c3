// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// memberScripts are about what members of groups do.
func memberScripts() []script {
	return []script{
		{
			key: kmsg.JoinGroup.Int16(), groups: true, run: (*parity).joinGroup, also: []int16{1, 2, 3, 4, 8},
			asked: slices.Concat(
				always(nil, kerr.InvalidGroupID, kerr.InvalidSessionTimeout, kerr.UnknownMemberID, kerr.InconsistentGroupProtocol),
				since(4, kerr.MemberIDRequired), since(5, kerr.FencedInstanceID)),
		},
		{
			key: kmsg.SyncGroup.Int16(), groups: true, run: (*parity).syncGroup,
			asked: slices.Concat(always(nil, kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress),
				since(3, kerr.FencedInstanceID), since(5, kerr.InconsistentGroupProtocol)),
		},
		{
			key: kmsg.Heartbeat.Int16(), groups: true, run: (*parity).heartbeat,
			asked: slices.Concat(always(nil, kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress),
				since(3, kerr.FencedInstanceID)),
		},
		{
			key: kmsg.LeaveGroup.Int16(), groups: true, run: (*parity).leaveGroup, also: []int16{1, 2},
			asked: slices.Concat(always(nil, kerr.InvalidGroupID, kerr.UnknownMemberID), since(3, kerr.FencedInstanceID)),
		},
	}
}

// joinGroup leaves out a protocol that is named twice, which a broker never answers.
func (p *parity) joinGroup() {
	join := func(group, id string, change ...func(*kmsg.JoinGroupRequest)) *kmsg.JoinGroupRequest {
		req := joinRequest(p.version, group, id)
		for _, c := range change {
			c(req)
		}
		return req
	}
	session := func(ms int32) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = ms }
	}
	protocols := func(protocols ...kmsg.JoinGroupRequestProtocol) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) { r.Protocols = protocols }
	}
	of := func(protocolType string) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) { r.ProtocolType = protocolType }
	}
	instance := func(id string) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) { r.InstanceID = &id }
	}

	group := p.group("group")
	p.step("an empty group id", join("", ""))
	p.step("too short a session", join(group, "", session(5_999)))
	p.step("too long a session", join(group, "", session(1_800_001)))
	p.step("a session below zero", join(group, "", session(-1)))
	p.step("a member of a group that never was", join(group, "nobody"))
	p.step("no protocols", join(group, "", protocols()))
	p.step("an empty type", join(group, "", of("")))

	// joined returns the id of one who joins without one: from version 4 on it is given first (KIP-394).
	joined := func(step, group string, change ...func(*kmsg.JoinGroupRequest)) string {
		p.t.Helper()
		answer, ok := p.step(step, join(group, "", change...)).(*kmsg.JoinGroupResponse)
		if !ok {
			p.t.Fatal("not answered")
		}
		if answer.ErrorCode == kerr.MemberIDRequired.Code {
			p.step(step+", with the id", join(group, answer.MemberID, change...))
		}
		return answer.MemberID
	}
	first := joined("the first", group)
	p.step("the first again, who leads", join(group, first))
	p.step("with other metadata", join(group, first, protocols(protocol("range", "other"), protocol("roundrobin", "other"))))
	p.step("another type", join(group, "", of("connect")))
	p.step("an empty type, a group of members", join(group, "", of("")))
	p.step("no protocol in common", join(group, "", protocols(protocol("sticky", "m"))))
	p.step("none in common with its own", join(group, first, protocols(protocol("sticky", "m"))))
	p.step("no protocols, by the member", join(group, first, protocols()))
	p.step("an unknown member", join(group, "nobody"))
	p.step("the first as before", join(group, first))

	// The second one's answer waits until the first has joined again.
	second := ""
	if p.version >= 4 {
		if answer, ok := p.step("the second", join(group, "")).(*kmsg.JoinGroupResponse); ok {
			second = answer.MemberID
		}
	}
	answered := p.park("the second joins", join(group, second, protocols(protocol("roundrobin", "s1"), protocol("range", "s2"))))
	p.awaitState(group, "PreparingRebalance")
	p.step("the first joins again", join(group, first))
	if answer, ok := answered().(*kmsg.JoinGroupResponse); ok {
		second = answer.MemberID
	}
	p.step("the second again, as it was", join(group, second, protocols(protocol("roundrobin", "s1"), protocol("range", "s2"))))
	p.allLeave(group, first, second)
	joined("one after all have left", group)
	if p.version < 5 {
		return
	}

	static := p.group("static")
	joined("a static member", static, instance("instance"))
	p.step("of another member's id", join(static, "nobody", instance("instance")))
	p.step("of an id, and an unknown instance", join(static, "nobody", instance("other")))
	p.step("an empty instance id", join(p.group("nameless"), "", instance("")), difference{
		"ErrorCode=0 Generation=1" + p.since(7, ` ProtocolType="consumer"`) + ` Protocol="range" LeaderID="-M5" SkipAssignment=false MemberID="-M5"` + "\n" +
			`    Members MemberID="-M5" InstanceID="" ProtocolMetadata="m1"`,
		"ErrorCode=79" + p.before(7, ` Protocol=""`) + ` LeaderID="" SkipAssignment=false MemberID="raw-M5"`,
		"it is what clients without one send",
	})
	p.step("too many protocols to share", join(static, "", instance("other"), protocols(protocol("sticky", "m"))))
	stable := p.stableStatic("stable", "instance")
	p.step("a static member comes back", join(stable.group, "", instance("instance")))
	p.step("by its former id", join(stable.group, stable.id, instance("instance")))
	p.step("by its former id alone", join(stable.group, stable.id))
	p.step("it comes back with other metadata", join(stable.group, "", instance("instance"), protocols(protocol("range", "other"))))
	p.step("with a reason", join(stable.group, "", instance("instance"), func(r *kmsg.JoinGroupRequest) { r.Reason = named("because") }))
}

func (p *parity) syncGroup() {
	sync := func(m member, assignments ...string) *kmsg.SyncGroupRequest {
		return syncRequest(p.version, m, assignments...)
	}
	changed := func(m member, change func(*kmsg.SyncGroupRequest)) *kmsg.SyncGroupRequest {
		req := sync(m)
		change(req)
		return req
	}
	leader, follower := p.pair("pair")
	p.step("an empty group id", sync(member{"", leader.id, 1}))
	p.step("of a group that never was", sync(member{p.group("none"), leader.id, 1}))
	p.step("an unknown member", sync(member{leader.group, "nobody", leader.generation}))
	p.step("an empty member id", sync(member{leader.group, "", leader.generation}))
	p.step("an older generation", sync(member{leader.group, leader.id, leader.generation - 1}))
	p.step("no generation", sync(member{leader.group, leader.id, -1}))
	p.step("an unknown instance", changed(leader, func(r *kmsg.SyncGroupRequest) { r.InstanceID = named("nobody") }))
	if p.version >= 5 {
		p.step("another protocol", changed(leader, func(r *kmsg.SyncGroupRequest) { r.Protocol = named("other") }))
		p.step("another type", changed(leader, func(r *kmsg.SyncGroupRequest) { r.ProtocolType = named("other") }))
		p.step("no protocol and no type", changed(leader, func(r *kmsg.SyncGroupRequest) { r.Protocol, r.ProtocolType = nil, nil }))
	}
	waiting := p.park("the follower", sync(follower))
	p.step("the leader, who assigns to itself and to nobody", sync(leader, leader.id, "mine", "nobody", "x"))
	waiting()
	p.step("the leader again, with other assignments", sync(leader, leader.id, "other"))
	p.step("the follower, once all are assigned", sync(follower))
	preparing, _ := p.preparing("preparing")
	p.step("who is to join again", sync(preparing))
	empty := p.stable("empty")
	p.allLeave(empty.group, empty.id)
	p.step("who has left", sync(empty))
	alone := p.completing("alone")
	p.step("a leader who assigns nothing", sync(alone))
	static := p.stableStatic("static", "instance")
	p.step("a static member", changed(static, func(r *kmsg.SyncGroupRequest) { r.InstanceID = named("instance") }))
	p.step("a static member of another id", changed(static, func(r *kmsg.SyncGroupRequest) { r.InstanceID, r.MemberID = named("instance"), "nobody" }))
}

func (p *parity) heartbeat() {
	beat := func(m member) *kmsg.HeartbeatRequest {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
		return req
	}
	of := func(m member, instance string) *kmsg.HeartbeatRequest {
		req := beat(m)
		req.InstanceID = &instance
		return req
	}
	m := p.completing("completing")
	p.step("who is not assigned yet", beat(m))
	p.step("an unknown member", beat(member{m.group, "nobody", m.generation}))
	m = p.stable("stable")
	p.step("who is assigned", beat(m))
	p.step("an older generation", beat(member{m.group, m.id, m.generation - 1}))
	p.step("a generation to come", beat(member{m.group, m.id, m.generation + 1}))
	p.step("no generation", beat(member{m.group, m.id, -1}))
	p.step("an unknown member", beat(member{m.group, "nobody", m.generation}))
	p.step("an empty member id", beat(member{m.group, "", m.generation}))
	p.step("an unknown instance", of(m, "nobody"))
	p.step("an empty group id", beat(member{"", m.id, m.generation}))
	p.step("of a group that never was", beat(member{p.group("none"), m.id, m.generation}))
	preparing, _ := p.preparing("preparing")
	p.step("who is to join again", beat(preparing))
	p.step("who is to join again, at an older generation", beat(member{preparing.group, preparing.id, preparing.generation - 1}))
	p.allLeave(m.group, m.id)
	p.step("who has left", beat(m))
	static := p.stableStatic("static", "instance")
	p.step("a static member", of(static, "instance"))
	p.step("its id alone", beat(static))
	p.step("a static member of another id", of(member{static.group, "nobody", static.generation}, "instance"))
	p.step("an unknown instance of a known id", of(static, "nobody"))
}

func (p *parity) leaveGroup() {
	leave := func(group string, ids ...string) *kmsg.LeaveGroupRequest {
		return leaveRequest(p.version, group, ids...)
	}
	m := p.stable("stable")
	p.step("an empty group id", leave("", m.id))
	p.step("of a group that never was", leave(p.group("none"), m.id))
	p.step("an unknown member", leave(m.group, "nobody"))
	p.step("an empty member id", leave(m.group, ""))
	p.step("a member", leave(m.group, m.id))
	p.step("who has left", leave(m.group, m.id))
	preparing, _ := p.preparing("preparing")
	p.step("who is to join again", leave(preparing.group, preparing.id))
	pending := p.pending("pending")
	p.step("who has an id and has not joined", leave(pending.group, pending.id))
	p.step("it again", leave(pending.group, pending.id))
	if p.version < 3 {
		return
	}
	leader, follower := p.pair("pair")
	p.step("one twice, one unknown, and one more", leave(leader.group, leader.id, leader.id, "nobody", follower.id))
	p.step("no members", leave(leader.group))
	static := p.stableStatic("static", "instance")
	by := func(id, instance string) *kmsg.LeaveGroupRequest {
		req := leave(static.group, id)
		req.Members[0].InstanceID = &instance
		return req
	}
	p.step("a static member of another id", by("nobody", "instance"))
	p.step("an unknown instance", by("", "nobody"))
	p.step("a known id of an unknown instance", by(static.id, "nobody"))
	reason := by("", "instance")
	reason.Members[0].Reason = named("because")
	p.step("a static member by its instance alone", reason)
	static = p.stableStatic("static", "instance")
	p.step("a static member by its id alone", leave(static.group, static.id))
}
