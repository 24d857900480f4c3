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

// The numbers of most records take one or two bytes each. RecordIter.Next and skimRecord read such records themselves: the parts follow
// each other, and a number that is longer, or not there, puts the next one nowhere, so to compare the last one's end with the record's
// is to check all. Other records, and those that are not valid, they leave to parseRecord.

// skimRecord is parseRecord for who does not need key and value: b[headers:end] are the record's headers.
func skimRecord(b []byte, start int) (timestampDelta int64, offsetDelta int32, headerCount, headers, end int, err error) {
	length, i := shortVarint(b, uint(start))
	last := i + length>>1
	timestamp, i := shortVarint(b, i+1) // after the record's attributes: no bit of them means anything
	offset, i := shortVarint(b, i)
	keyLength, i := shortVarint(b, i)
	valueLength, i := shortVarint(b, i+fieldSize(keyLength))
	count, i := shortVarint(b, i+fieldSize(valueLength))
	if isNull(length) || i > last || last > uint(len(b)) {
		var r Record
		end, err = parseRecord(b, start, &r)
		return r.TimestampDelta, r.OffsetDelta, r.HeaderCount, end - len(r.Headers), end, err
	}
	return unzigzag(timestamp), int32(unzigzag(offset)), int(unzigzag(count)), int(i), int(last), nil
}

// parseRecord reads the record at b[i:] but for its headers, which may be anything, and returns where it ends. r keeps its Timestamp,
// which depends on the batch.
func parseRecord(b []byte, i int, r *Record) (end int, err error) {
	length, i := readVarint32(b, i)
	if i < 0 || length < 0 || int(length) > len(b)-i {
		return 0, errRecordLength
	}
	end = i + int(length)
	b = b[:end:end]
	r.TimestampDelta, i = readVarint64(b, i+1)
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
