// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import "math"

// noTimestamp is a record without a timestamp.
const noTimestamp = -1

// originTimestamp turns a record's timestamp (ms) into a message's (µs). Iggy's 0 means none, so time 0 becomes 1 µs.
func originTimestamp(ms int64) (micros uint64, err error) {
	switch {
	case ms == noTimestamp:
		return 0, nil
	case ms == 0:
		return 1, nil
	case ms < 0 || uint64(ms) > math.MaxUint64/1000:
		return 0, ErrTimestamp
	}
	return uint64(ms) * 1000, nil
}

// messageTimestamp is the inverse. A native message without an origin timestamp has at least the server's; one of ours without was a
// record without.
func messageTimestamp(m *Message) (ms int64) {
	switch {
	case m.OriginTimestamp != 0:
		return int64(m.OriginTimestamp / 1000)
	case hasTag(&m.ID):
		return noTimestamp
	}
	return AppendTimestamp(m)
}

// AppendTimestamp is when the server took m in, in ms: the timestamp of its record where message.timestamp.type is LogAppendTime.
func AppendTimestamp(m *Message) int64 { return int64(m.Timestamp / 1000) }

// RecordTimestamp is the timestamp (ms) of the record that m is to Kafka clients where message.timestamp.type is CreateTime, -1 for none.
func RecordTimestamp(m *Message) int64 {
	var v view
	// An unmappable message is served as well, with the timestamp that was found until it failed.
	_ = v.look(m)
	return v.timestamp
}
