// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"
)

// A record as bytes, see FORMAT.md:
//
//	version u8 | kind u8 | writer 8 bytes, big-endian | fields of the kind
const (
	version      = 1
	recordHeader = 1 + 1 + 8
)

// writerID stands for a BootID in every record.
type writerID uint64

func writerOf(bootID string) writerID {
	h := fnv.New64a()
	h.Write([]byte(bootID))
	return writerID(h.Sum64())
}

type kind uint8

// The numbers are in the log: none is ever used again for something else. 10 was a log start without its Until, which no
// gateway has written.
const (
	kindOwner            kind = 1
	kindCheckpointBegin  kind = 2
	kindCheckpointEnd    kind = 3
	kindPart             kind = 4
	kindOffsetsCommitted kind = 5
	kindOffsetsRemoved   kind = 6
	kindGroupSaved       kind = 7
	kindGroupRemoved     kind = 8
	kindProducerIDs      kind = 9
	kindTopicSettings    kind = 11
	kindTopicRemoved     kind = 12
	kindQuota            kind = 13
	kindLogStart         kind = 14
)

// record is one of the kinds. Strings in records that were decoded point into the message.
type record interface {
	kind() kind
	appendTo(dst []byte) []byte
}

func appendRecord(dst []byte, writer writerID, r record) []byte {
	dst = append(dst, version, byte(r.kind()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(writer))
	return r.appendTo(dst)
}

// decodeRecord reads one record, which must be all of the payload. Errors: ErrCorrupt, ErrUnknownRecord.
func decodeRecord(payload string) (writerID, record, error) {
	if len(payload) == 0 {
		return 0, nil, corrupt("empty record")
	}
	if payload[0] != version {
		return 0, nil, fmt.Errorf("%w: version %d, the newest known is %d", ErrUnknownRecord, payload[0], version)
	}
	if len(payload) < recordHeader {
		return 0, nil, corrupt("record of %d bytes", len(payload))
	}
	k := kind(payload[1])
	decode := decoderOf(k)
	if decode == nil {
		return 0, nil, fmt.Errorf("%w: kind %d", ErrUnknownRecord, k)
	}
	d := decoder{rest: payload[recordHeader:]}
	r := decode(&d)
	if d.bad || len(d.rest) > 0 {
		return 0, nil, corrupt("record of kind %d does not follow its form", k)
	}
	return writerID(binary.BigEndian.Uint64([]byte(payload[2:recordHeader]))), r, nil
}

func decoderOf(k kind) func(*decoder) record {
	switch k {
	case kindOwner:
		return func(d *decoder) record { return d.owner() }
	case kindCheckpointBegin:
		return func(d *decoder) record { return checkpointBegin{d.time(), d.owner()} }
	case kindCheckpointEnd:
		return func(*decoder) record { return checkpointEnd{} }
	case kindPart:
		return func(d *decoder) record { return part{d.uvarint(), d.uvarint(), d.string()} }
	case kindOffsetsCommitted:
		return func(d *decoder) record { return d.offsetsCommitted() }
	case kindOffsetsRemoved:
		return func(d *decoder) record { return d.offsetsRemoved() }
	case kindGroupSaved:
		return func(d *decoder) record { return d.groupSaved() }
	case kindGroupRemoved:
		return func(d *decoder) record { return groupRemoved{d.string()} }
	case kindProducerIDs:
		return func(d *decoder) record { return producerIDs{d.int32(), d.varint()} }
	case kindTopicSettings:
		return func(d *decoder) record { return topicSettings{d.string(), d.string(), d.settings()} }
	case kindTopicRemoved:
		return func(d *decoder) record { return topicRemoved{d.string()} }
	case kindQuota:
		return func(d *decoder) record { return quota{d.string(), d.settings()} }
	case kindLogStart:
		return func(d *decoder) record {
			return logStart{d.string(), d.string(), d.int32(), LogStart{d.varint(), d.uvarint()}}
		}
	}
	return nil
}

// owner says that who writes it owns the partition from here on. Terms rise from owner to owner. Groups are where they are
// because there are so many partitions.
type owner struct {
	term       uint64
	partitions uint64
	instance   int32
	bootID     string
}

func (owner) kind() kind { return kindOwner }

func (o owner) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, o.term)
	dst = binary.AppendUvarint(dst, o.partitions)
	dst = binary.AppendVarint(dst, int64(o.instance))
	return appendString(dst, o.bootID)
}

func (d *decoder) owner() owner { return owner{d.uvarint(), d.uvarint(), d.int32(), d.string()} }

func (o owner) String() string {
	return fmt.Sprintf("instance %d, boot id %s, term %d", o.instance, o.bootID, o.term)
}

// checkpointBegin opens a checkpoint: who starts here learns all of the partition's state, up to checkpointEnd at the
// latest. It names the owner, who may have said so long before.
type checkpointBegin struct {
	at    time.Time
	owner owner
}

func (checkpointBegin) kind() kind { return kindCheckpointBegin }

func (c checkpointBegin) appendTo(dst []byte) []byte { return c.owner.appendTo(appendTime(dst, c.at)) }

// checkpointEnd makes what lies between it and the last checkpointBegin a whole checkpoint.
type checkpointEnd struct{}

func (checkpointEnd) kind() kind                 { return kindCheckpointEnd }
func (checkpointEnd) appendTo(dst []byte) []byte { return dst }

// part is one of count parts, numbered from 0, of a record that is longer than a message may be. They follow each other.
type part struct {
	index, count uint64
	data         string
}

func (part) kind() kind { return kindPart }

func (p part) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, p.index)
	dst = binary.AppendUvarint(dst, p.count)
	return appendString(dst, p.data)
}

// producerIDs says that an instance has given out producer ids below next, or is about to.
type producerIDs struct {
	instance int32
	next     int64
}

func (producerIDs) kind() kind { return kindProducerIDs }

func (p producerIDs) appendTo(dst []byte) []byte {
	return binary.AppendVarint(binary.AppendVarint(dst, int64(p.instance)), p.next)
}

// logStart says where clients see a partition begin. The name is for people.
type logStart struct {
	topicID, name string
	partition     int32
	start         LogStart
}

func (logStart) kind() kind { return kindLogStart }

func (l logStart) appendTo(dst []byte) []byte {
	dst = appendString(appendString(dst, l.topicID), l.name)
	dst = binary.AppendVarint(binary.AppendVarint(dst, int64(l.partition)), l.start.Offset)
	return binary.AppendUvarint(dst, l.start.Until)
}

// topicSettings sets all settings of a topic. The name is for people.
type topicSettings struct {
	topicID, name string
	settings      map[string]string
}

func (topicSettings) kind() kind { return kindTopicSettings }

func (t topicSettings) appendTo(dst []byte) []byte {
	return appendSettings(appendString(appendString(dst, t.topicID), t.name), t.settings)
}

// topicRemoved removes the settings and log starts of a topic.
type topicRemoved struct{ topicID string }

func (topicRemoved) kind() kind { return kindTopicRemoved }

func (t topicRemoved) appendTo(dst []byte) []byte { return appendString(dst, t.topicID) }

// quota sets all limits of a client quota entity; none removes it.
type quota struct {
	key    string
	values map[string]string
}

func (quota) kind() kind { return kindQuota }

func (q quota) appendTo(dst []byte) []byte { return appendSettings(appendString(dst, q.key), q.values) }

func appendSettings(dst []byte, settings map[string]string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(settings)))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		dst = appendString(appendString(dst, name), settings[name])
	}
	return dst
}

func (d *decoder) settings() map[string]string {
	n := d.count(2)
	settings := make(map[string]string, n)
	last := ""
	for i := range n {
		name := d.string()
		if i > 0 && name <= last {
			d.fail()
		}
		settings[name] = d.string()
		last = name
	}
	return settings
}
