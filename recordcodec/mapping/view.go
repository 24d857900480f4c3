// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"strconv"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// view is a message seen as a record. Everything in it points into the message.
type view struct {
	timestamp  int64 // ms
	key, value []byte
	headers    headerSum
	unknown    int // headers in the reserved namespace that mean nothing here

	enveloped   bool
	envelope    envelope
	userHeaders []byte
	failure     []byte // not nil: the one header says why the message is unmappable
}

// headerSum adds up record headers.
type headerSum struct {
	count int
	bytes int // what they take in a record
}

func (s *headerSum) add(name, value []byte) {
	s.count++
	s.bytes += recordcodec.HeaderLen(name, value)
}

// look reads m. Where it fails, v.timestamp is set all the same.
func (v *view) look(m *Message) error {
	*v = view{}
	v.timestamp, v.value = messageTimestamp(m), m.Payload
	if len(m.UserHeaders) == 0 {
		return nil
	}
	v.userHeaders = m.UserHeaders
	var ours headerSum // headers kafka.h.*
	fields := 0        // headers kafka.key and kafka.value
	it := entryIter{rest: m.UserHeaders}
	for it.next() {
		name, isReserved := cutReserved(it.name)
		switch {
		case !isReserved:
			v.headers.add(it.name, it.value)
		case name != nil:
			ours.add(name, it.value)
		case string(it.name) == nameKey:
			v.key = it.value
			fields++
		case string(it.name) == nameValue && v.setValue(it.value):
			fields++
		case string(it.name) == nameTimestamp && v.setTimestamp(it.value):
		case string(it.name) == nameEnvelope:
			if len(it.value) != 1 || it.value[0] != envelopeVersion {
				return errEnvelopeVersion
			}
			v.enveloped = true
		default:
			v.unknown++
		}
	}
	if it.err != nil {
		return it.err
	}
	if !v.enveloped {
		v.headers.count += ours.count
		v.headers.bytes += ours.bytes
		return nil
	}
	// The envelope has the whole record: what else says something about it says nothing.
	v.unknown += fields + ours.count
	var err error
	if v.envelope, err = openEnvelope(m.Payload); err != nil {
		return err
	}
	v.key, v.value = v.envelope.key, v.envelope.value
	v.headers.count += v.envelope.headers.count
	v.headers.bytes += v.envelope.headers.bytes
	return nil
}

// cutReserved tells whether name is in the reserved namespace, and what follows the prefix of a record header's name; nil for others.
func cutReserved(name []byte) (header []byte, isReserved bool) {
	if !hasPrefix(name, reserved) {
		return nil, false
	}
	if hasPrefix(name, prefixHeader) {
		return name[len(prefixHeader):], true
	}
	return nil, true
}

// hasPrefix is strings.HasPrefix without the copy that making a string of name takes.
func hasPrefix(name []byte, prefix string) bool {
	return len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix
}

// setValue applies the header kafka.value, which says that the payload is but a placeholder.
func (v *view) setValue(state []byte) bool {
	switch string(state) {
	case valueNull:
		v.value = nil
	case valueEmpty:
		v.value = []byte{}
	default:
		return false
	}
	return true
}

// setTimestamp applies the header kafka.ts.
func (v *view) setTimestamp(decimal []byte) bool {
	ms, err := strconv.ParseInt(string(decimal), 10, 64)
	if err != nil {
		return false
	}
	v.timestamp = ms
	return true
}

// fail turns v into the record that stands for an unmappable message: its raw payload, and why.
func (v *view) fail(m *Message, err error) {
	var why unmappable // which look's errors all are
	errors.As(err, &why)
	*v = view{timestamp: v.timestamp, value: m.Payload, failure: []byte(why)}
	v.headers.add([]byte(ErrorHeader), v.failure)
}

// eachHeader calls f for each header of the record, those of the envelope first.
func (v *view) eachHeader(f func(name, value []byte)) {
	if v.failure != nil {
		f([]byte(ErrorHeader), v.failure)
		return
	}
	rest := v.envelope.encoded
	for range v.envelope.headers.count {
		var name, value []byte
		name, value, rest, _ = takeEnvelopeHeader(rest) // openEnvelope has checked
		f(name, value)
	}
	it := entryIter{rest: v.userHeaders} // not in the loop's head, where each turn would copy it
	for it.next() {
		switch name, isReserved := cutReserved(it.name); {
		case !isReserved:
			f(it.name, it.value)
		case name != nil && !v.enveloped:
			f(name, it.value)
		}
	}
}

// ToRecord reads m as a record. Its headers are encoded into headers[:0], which may grow: pass the last record's to use its memory
// again. Key and value point into m; the deltas are 0. It fails with ErrUnmappable; the gateway then serves the raw payload with the
// header ErrorHeader.
func ToRecord(m *Message, headers recordcodec.RawHeaders) (recordcodec.Record, error) {
	var v view
	if err := v.look(m); err != nil {
		return recordcodec.Record{}, err
	}
	headers = headers[:0]
	v.eachHeader(func(name, value []byte) { headers = recordcodec.AppendHeader(headers, name, value) })
	return recordcodec.Record{
		Timestamp:   v.timestamp,
		Key:         v.key,
		Value:       v.value,
		Headers:     headers,
		HeaderCount: v.headers.count,
	}, nil
}
