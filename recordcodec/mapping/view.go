// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// view is a message seen as a record. Everything in it points into the message.
type view struct {
	timestamp   int64 // ms
	key, value  []byte
	headerCount int
	headerBytes int // what the headers take in a record
	unknown     int // headers in the reserved namespace that mean nothing here

	enveloped   bool
	envelope    envelope
	userHeaders []byte
	failure     []byte // not nil: the one header says why the message is unmappable
}

// look reads m. Where it fails, v.timestamp is set all the same.
func (v *view) look(m *Message) error {
	*v = view{timestamp: recordTimestamp(m), value: m.Payload}
	if len(m.UserHeaders) == 0 {
		return nil
	}
	v.userHeaders = m.UserHeaders
	own := 0 // names in the namespace that an envelope makes void
	ownCount, ownBytes := 0, 0
	it := entryIter{rest: m.UserHeaders}
	for it.next() {
		name, isReserved := cutReserved(it.name)
		switch {
		case !isReserved:
			v.headerCount++
			v.headerBytes += recordcodec.HeaderLen(it.name, it.value)
		case string(it.name) == nameKey:
			v.key = it.value
			own++
		case string(it.name) == nameValue:
			if !v.setValue(it.value) {
				v.unknown++
				break
			}
			own++
		case string(it.name) == nameEnvelope:
			if len(it.value) != 1 || it.value[0] != envelopeVersion {
				return errEnvelopeVersion
			}
			v.enveloped = true
		case string(it.name) == nameTimestamp:
			ms, err := strconv.ParseInt(string(it.value), 10, 64)
			if err != nil {
				v.unknown++
				break
			}
			v.timestamp = ms
		case name != nil:
			ownCount++
			ownBytes += recordcodec.HeaderLen(name, it.value)
		default:
			v.unknown++
		}
	}
	if it.err != nil {
		return it.err
	}
	if !v.enveloped {
		v.headerCount += ownCount
		v.headerBytes += ownBytes
		return nil
	}
	v.unknown += own + ownCount
	e, err := openEnvelope(m.Payload)
	if err != nil {
		return err
	}
	v.envelope = e
	v.key, v.value = e.key, e.value
	v.headerCount += e.headerCount
	v.headerBytes += e.headerBytes
	return nil
}

// cutReserved tells whether name is in the reserved namespace, and what follows the prefix of a record header's name; nil for others.
func cutReserved(name []byte) (header []byte, isReserved bool) {
	if !strings.HasPrefix(string(name), reserved) {
		return nil, false
	}
	if strings.HasPrefix(string(name), prefixHeader) {
		return name[len(prefixHeader):], true
	}
	return nil, true
}

// setValue applies the header kafka.value: the payload is but a placeholder.
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

// fail turns v into the record that stands for an unmappable message: its raw payload, and why.
func (v *view) fail(m *Message, reason error) {
	why := []byte(reason.Error())
	*v = view{
		timestamp:   v.timestamp,
		value:       m.Payload,
		headerCount: 1,
		headerBytes: recordcodec.HeaderLen([]byte(ErrorHeader), why),
		failure:     why,
	}
}

// headers calls f for each header of the record, those of the envelope first.
func (v *view) headers(f func(name, value []byte)) {
	if v.failure != nil {
		f([]byte(ErrorHeader), v.failure)
		return
	}
	rest := v.envelope.headers
	for range v.envelope.headerCount {
		var name, value []byte
		name, value, rest, _ = takeEnvelopeHeader(rest) // openEnvelope has checked
		f(name, value)
	}
	for it := (entryIter{rest: v.userHeaders}); it.next(); {
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
	v.headers(func(name, value []byte) { headers = recordcodec.AppendHeader(headers, name, value) })
	return recordcodec.Record{
		Timestamp:   v.timestamp,
		Key:         v.key,
		Value:       v.value,
		Headers:     headers,
		HeaderCount: v.headerCount,
	}, nil
}
