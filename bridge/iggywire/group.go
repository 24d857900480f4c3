// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// CreateGroup creates a consumer group of a topic; the answer is its [GroupDetails].
type CreateGroup struct {
	Stream, Topic Identifier
	Name          string
}

// Code returns [CodeCreateGroup].
func (CreateGroup) Code() Code { return CodeCreateGroup }

// AppendTo appends the body.
func (c CreateGroup) AppendTo(dst []byte) []byte {
	return appendString8(appendTopicPath(dst, c.Stream, c.Topic), c.Name)
}

// ParseCreateGroup reads the body of a [CreateGroup].
func ParseCreateGroup(b []byte) (CreateGroup, error) {
	r := reader{b: b}
	c := CreateGroup{Stream: r.identifier(), Topic: r.identifier(), Name: r.name()}
	return c, r.end("create group")
}

// GetGroups asks for the groups of a topic.
type GetGroups struct{ Stream, Topic Identifier }

// Code returns [CodeGetGroups].
func (GetGroups) Code() Code { return CodeGetGroups }

// AppendTo appends the body.
func (g GetGroups) AppendTo(dst []byte) []byte { return appendTopicPath(dst, g.Stream, g.Topic) }

// ParseGetGroups reads the body of a [GetGroups].
func ParseGetGroups(b []byte) (GetGroups, error) {
	r := reader{b: b}
	g := GetGroups{Stream: r.identifier(), Topic: r.identifier()}
	return g, r.end("get groups")
}

// groupPath is the body of every request about one group.
type groupPath struct{ Stream, Topic, Group Identifier }

func (g groupPath) append(dst []byte) []byte {
	return AppendIdentifier(appendTopicPath(dst, g.Stream, g.Topic), g.Group)
}

func parseGroupPath(b []byte, what string) (groupPath, error) {
	r := reader{b: b}
	g := groupPath{Stream: r.identifier(), Topic: r.identifier(), Group: r.identifier()}
	return g, r.end(what)
}

// GetGroup asks for one group's [GroupDetails].
type GetGroup struct{ Stream, Topic, Group Identifier }

// Code returns [CodeGetGroup].
func (GetGroup) Code() Code { return CodeGetGroup }

// AppendTo appends the body.
func (g GetGroup) AppendTo(dst []byte) []byte { return groupPath(g).append(dst) }

// ParseGetGroup reads the body of a [GetGroup].
func ParseGetGroup(b []byte) (GetGroup, error) {
	g, err := parseGroupPath(b, "get group")
	return GetGroup(g), err
}

// DeleteGroup deletes a group and its offsets.
type DeleteGroup struct{ Stream, Topic, Group Identifier }

// Code returns [CodeDeleteGroup].
func (DeleteGroup) Code() Code { return CodeDeleteGroup }

// AppendTo appends the body.
func (d DeleteGroup) AppendTo(dst []byte) []byte { return groupPath(d).append(dst) }

// ParseDeleteGroup reads the body of a [DeleteGroup].
func ParseDeleteGroup(b []byte) (DeleteGroup, error) {
	g, err := parseGroupPath(b, "delete group")
	return DeleteGroup(g), err
}

// JoinGroup makes the connection a member of a group; joining twice is no error.
type JoinGroup struct{ Stream, Topic, Group Identifier }

// Code returns [CodeJoinGroup].
func (JoinGroup) Code() Code { return CodeJoinGroup }

// AppendTo appends the body.
func (j JoinGroup) AppendTo(dst []byte) []byte { return groupPath(j).append(dst) }

// ParseJoinGroup reads the body of a [JoinGroup].
func ParseJoinGroup(b []byte) (JoinGroup, error) {
	g, err := parseGroupPath(b, "join group")
	return JoinGroup(g), err
}

// LeaveGroup ends the connection's membership in a group.
type LeaveGroup struct{ Stream, Topic, Group Identifier }

// Code returns [CodeLeaveGroup].
func (LeaveGroup) Code() Code { return CodeLeaveGroup }

// AppendTo appends the body.
func (l LeaveGroup) AppendTo(dst []byte) []byte { return groupPath(l).append(dst) }

// ParseLeaveGroup reads the body of a [LeaveGroup].
func ParseLeaveGroup(b []byte) (LeaveGroup, error) {
	g, err := parseGroupPath(b, "leave group")
	return LeaveGroup(g), err
}

// Group describes a consumer group.
//
//	id u32 | partitions u32 | members u32 | name string8
type Group struct {
	ID         uint32
	Partitions uint32 // of the topic
	Members    uint32
	Name       string
}

// AppendTo appends the group as one element of the answer to [GetGroups].
func (g Group) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, g.ID)
	dst = binary.LittleEndian.AppendUint32(dst, g.Partitions)
	dst = binary.LittleEndian.AppendUint32(dst, g.Members)
	return appendString8(dst, g.Name)
}

func (r *reader) group() Group {
	return Group{ID: r.u32(), Partitions: r.u32(), Members: r.u32(), Name: r.name()}
}

// ParseGroups reads the answer to [GetGroups].
func ParseGroups(b []byte) ([]Group, error) { return parseList(b, "groups", (*reader).group) }

// GroupDetails is a group with its members.
type GroupDetails struct {
	Group
	MemberList []GroupMember
}

// GroupMember is a member of a group and the partitions that are its own.
//
//	id u32 | count u32 | partitions u32
type GroupMember struct {
	ID         uint32
	Partitions []uint32
}

// AppendTo appends the answer to [GetGroup] or [CreateGroup].
func (g GroupDetails) AppendTo(dst []byte) []byte {
	dst = g.Group.AppendTo(dst)
	for _, m := range g.MemberList {
		dst = binary.LittleEndian.AppendUint32(dst, m.ID)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Partitions)))
		for _, p := range m.Partitions {
			dst = binary.LittleEndian.AppendUint32(dst, p)
		}
	}
	return dst
}

func (r *reader) groupMember() GroupMember {
	m := GroupMember{ID: r.u32()}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		m.Partitions = append(m.Partitions, r.u32())
	}
	return m
}

// ParseGroupDetails reads the answer to [GetGroup] or [CreateGroup]; found is
// false for a group that does not exist.
func ParseGroupDetails(b []byte) (g GroupDetails, found bool, err error) {
	if len(b) == 0 {
		return g, false, nil
	}
	r := reader{b: b}
	g.Group = r.group()
	for r.more() {
		g.MemberList = append(g.MemberList, r.groupMember())
	}
	if err := r.done("group"); err != nil {
		return GroupDetails{}, false, err
	}
	return g, true, nil
}
