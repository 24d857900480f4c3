// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"encoding/binary"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// offsetsCommitted sets offsets of a group.
type offsetsCommitted struct {
	group  string
	topics []committedTopic
}

type committedTopic struct {
	name, id   string
	partitions []committedPartition
}

// committedPartition keeps an offset in its encoded form, see appendOffset: a million of them are held in memory.
type committedPartition struct {
	partition int32
	value     string
}

func (offsetsCommitted) kind() kind { return kindOffsetsCommitted }

func (o offsetsCommitted) appendTo(dst []byte) []byte {
	dst = appendString(dst, o.group)
	dst = binary.AppendUvarint(dst, uint64(len(o.topics)))
	for _, t := range o.topics {
		dst = appendString(appendString(dst, t.name), t.id)
		dst = binary.AppendUvarint(dst, uint64(len(t.partitions)))
		for _, p := range t.partitions {
			dst = binary.AppendVarint(dst, int64(p.partition))
			dst = append(dst, p.value...)
		}
	}
	return dst
}

func (d *decoder) offsetsCommitted() offsetsCommitted {
	o := offsetsCommitted{group: d.string()}
	o.topics = make([]committedTopic, d.count(3))
	for i := range o.topics {
		t := &o.topics[i]
		t.name, t.id = d.string(), d.string()
		t.partitions = make([]committedPartition, d.count(6))
		for j := range t.partitions {
			t.partitions[j].partition = d.int32()
			before := d.rest
			d.offset()
			t.partitions[j].value = before[:len(before)-len(d.rest)]
		}
	}
	return o
}

// appendOffset appends all of an offset but its topic's id.
func appendOffset(dst []byte, o *coordinator.Offset) []byte {
	dst = binary.AppendVarint(dst, o.Position)
	dst = binary.AppendVarint(dst, int64(o.LeaderEpoch))
	dst = appendString(dst, o.Metadata)
	dst = appendTime(dst, o.CommittedAt)
	return appendTime(dst, o.ExpireAt)
}

func (d *decoder) offset() coordinator.Offset {
	return coordinator.Offset{
		Position: d.varint(), LeaderEpoch: d.int32(), Metadata: d.string(), CommittedAt: d.time(), ExpireAt: d.time(),
	}
}

// decodeOffset opens the value of a committedPartition that was decoded.
func decodeOffset(id, value string) coordinator.Offset {
	d := decoder{rest: value}
	o := d.offset()
	o.TopicID, o.Metadata = id, strings.Clone(o.Metadata)
	return o
}

// offsetsRemoved removes offsets of a group.
type offsetsRemoved struct {
	group  string
	topics []removedTopic
}

type removedTopic struct {
	name       string
	partitions []int32
}

func (offsetsRemoved) kind() kind { return kindOffsetsRemoved }

func (o offsetsRemoved) appendTo(dst []byte) []byte {
	dst = appendString(dst, o.group)
	dst = binary.AppendUvarint(dst, uint64(len(o.topics)))
	for _, t := range o.topics {
		dst = appendString(dst, t.name)
		dst = binary.AppendUvarint(dst, uint64(len(t.partitions)))
		for _, p := range t.partitions {
			dst = binary.AppendVarint(dst, int64(p))
		}
	}
	return dst
}

func (d *decoder) offsetsRemoved() offsetsRemoved {
	o := offsetsRemoved{group: d.string()}
	o.topics = make([]removedTopic, d.count(2))
	for i := range o.topics {
		o.topics[i].name = d.string()
		o.topics[i].partitions = make([]int32, d.count(1))
		for j := range o.topics[i].partitions {
			o.topics[i].partitions[j] = d.int32()
		}
	}
	return o
}

// groupRemoved removes a group and its offsets.
type groupRemoved struct{ group string }

func (groupRemoved) kind() kind { return kindGroupRemoved }

func (g groupRemoved) appendTo(dst []byte) []byte { return appendString(dst, g.group) }

// groupSaved sets everything about a group but its offsets. The snapshot stays encoded until somebody wants it.
type groupSaved struct {
	group    string
	snapshot string
}

func (groupSaved) kind() kind { return kindGroupSaved }

func (g groupSaved) appendTo(dst []byte) []byte {
	return append(appendString(dst, g.group), g.snapshot...)
}

func (d *decoder) groupSaved() groupSaved {
	g := groupSaved{group: d.string()}
	g.snapshot = d.rest
	d.snapshot()
	return g
}

// typeClassic is the type of the groups that there are: those of the classic protocol.
const typeClassic = 1

func appendSnapshot(dst []byte, s *coordinator.Snapshot) []byte {
	dst = append(dst, typeClassic)
	dst = binary.AppendVarint(dst, int64(s.Generation))
	dst = appendString(dst, s.ProtocolType)
	dst = appendString(dst, s.Protocol)
	dst = appendString(dst, s.Leader)
	dst = appendTime(dst, s.EmptySince)
	dst = binary.AppendUvarint(dst, uint64(len(s.Members)))
	for i := range s.Members {
		dst = appendMember(dst, &s.Members[i])
	}
	return dst
}

func appendMember(dst []byte, m *coordinator.MemberSnapshot) []byte {
	for _, s := range [...]string{m.MemberID, m.InstanceID, m.ClientID, m.ClientHost} {
		dst = appendString(dst, s)
	}
	dst = binary.AppendVarint(dst, int64(m.SessionTimeout))
	dst = binary.AppendVarint(dst, int64(m.RebalanceTimeout))
	dst = binary.AppendUvarint(dst, uint64(len(m.Protocols)))
	for _, p := range m.Protocols {
		dst = appendString(appendString(dst, p.Name), p.Metadata)
	}
	if m.Topics == nil {
		dst = append(dst, 0)
	} else {
		dst = appendStrings(append(dst, 1), m.Topics)
	}
	return appendString(dst, m.Assignment)
}

func (d *decoder) snapshot() coordinator.Snapshot {
	if d.byte() != typeClassic {
		d.fail()
	}
	s := coordinator.Snapshot{
		Generation: d.int32(), ProtocolType: d.string(), Protocol: d.string(), Leader: d.string(), EmptySince: d.time(),
	}
	const smallestMember = 9
	s.Members = make([]coordinator.MemberSnapshot, d.count(smallestMember))
	for i := range s.Members {
		s.Members[i] = d.member()
	}
	return s
}

func (d *decoder) member() coordinator.MemberSnapshot {
	m := coordinator.MemberSnapshot{
		MemberID: d.string(), InstanceID: d.string(), ClientID: d.string(), ClientHost: d.string(),
		SessionTimeout: d.duration(), RebalanceTimeout: d.duration(),
	}
	m.Protocols = make([]coordinator.Protocol, d.count(2))
	for i := range m.Protocols {
		m.Protocols[i] = coordinator.Protocol{Name: d.string(), Metadata: d.bytes()}
	}
	switch d.byte() {
	case 0:
	case 1:
		m.Topics = d.strings()
	default:
		d.fail()
	}
	m.Assignment = d.bytes()
	return m
}

// decodeSnapshot opens the snapshot of a groupSaved that was decoded. The result's strings point into it.
func decodeSnapshot(snapshot string) coordinator.Snapshot {
	d := decoder{rest: snapshot}
	return d.snapshot()
}
