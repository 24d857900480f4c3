// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import "errors"

// Record is one record of a batch. Key, Value and Headers point into the batch's bytes and live as long as they do.
type Record struct {
	OffsetDelta    int32 // offset - Header.BaseOffset
	TimestampDelta int64 // ms, as sent
	Timestamp      int64 // ms: base timestamp + delta, or the batch's max timestamp under log append time; -1 is none
	Key            []byte
	Value          []byte // nil is null (a tombstone), which is not the same as empty; so with Key
	Headers        RawHeaders
	HeaderCount    int
}

// minRecord is the length of the shortest record: seven numbers of one byte.
const minRecord = 7

// Why a record does not parse. The walk over the batch adds which record it is and the class.
var (
	errRecordLength  = errors.New("its length is beyond the batch's end")
	errRecordParts   = errors.New("its parts do not fit its length")
	errHeaderCount   = errors.New("its header count lies")
	errHeaderName    = errors.New("a header has no name")
	errHeaderParts   = errors.New("a header does not fit")
	errTrailingBytes = errors.New("bytes remain after its last header")
)

// parseRecord reads the record at the start of b but for its headers, which may be anything, and returns its length in b. r keeps
// its Timestamp, which depends on the batch.
func parseRecord(b []byte, r *Record) (int, error) {
	length, start := readVarint32(b, 0)
	if start < 0 || length < 0 || int(length) > len(b)-start {
		return 0, errRecordLength
	}
	end := start + int(length)
	b = b[:end:end]
	i := start + 1 // the record's attributes: no bit of them means anything
	r.TimestampDelta, i = readVarint64(b, i)
	r.OffsetDelta, i = readVarint32(b, i)
	r.Key, i = readField(b, i)
	r.Value, i = readField(b, i)
	count, i := readVarint32(b, i)
	if i < 0 {
		return 0, errRecordParts
	}
	r.HeaderCount = int(count)
	r.Headers = RawHeaders(b[i:])
	return end, nil
}

// checkHeaders says whether h holds exactly count headers.
func checkHeaders(h RawHeaders, count int) error {
	// A header takes two bytes at least.
	if count < 0 || count > len(h)/2 {
		return errHeaderCount
	}
	i := 0
	for range count {
		n, j := readVarint32(h, i)
		if j >= 0 && n < 0 {
			return errHeaderName
		}
		if _, i = readField(h, i); i >= 0 {
			_, i = readField(h, i)
		}
		if i < 0 {
			return errHeaderParts
		}
	}
	if i != len(h) {
		return errTrailingBytes
	}
	return nil
}
