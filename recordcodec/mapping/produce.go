// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// AppendMessages appends the records of b as messages in Iggy's wire form, one after another, ready for one send; checksum, offset and
// timestamp are left to the server. Nothing is allocated per record: reserve MessagesSize(b) and dst need not grow.
//
// With a *RecordError, which names the first record at fault, dst comes back as it was.
func AppendMessages(dst []byte, b *recordcodec.Batch, ids *IDs, lim MessageLimits) ([]byte, error) {
	w := messageWriter{dst: dst, limits: lim.withDefaults()}
	i := 0
	for it := b.Records(); it.Next(); i++ {
		if err := w.write(&it.Record, ids.at(i)); err != nil {
			return dst, &RecordError{Index: i, Err: err}
		}
	}
	return w.dst, nil
}

// AppendRecord appends one record as a message in Iggy's wire form; its Timestamp counts, its deltas do not. It fails with
// ErrTimestamp or recordcodec.ErrTooLarge; dst then comes back as it was.
func AppendRecord(dst []byte, r *recordcodec.Record, id [16]byte, lim MessageLimits) ([]byte, error) {
	w := messageWriter{dst: dst, limits: lim.withDefaults()}
	if err := w.write(r, messageIDOf(id)); err != nil {
		return dst, fmt.Errorf("mapping: %w", err)
	}
	return w.dst, nil
}

// What a message can take more than its record does in the batch, where each has seven numbers of a byte at least, and each header two
// more. Of plain messages the largest has key and an empty value; the extra of an envelope, 38, is less.
const (
	recordExtra = MessageHeaderSize + 1 + entryOverhead + len(nameKey) + entryOverhead + len(nameValue) + len(valueEmpty) - 7
	headerExtra = entryOverhead + len(prefixHeader) - 2
)

// MessagesSize is an upper bound of the bytes that AppendMessages will append for b, found without looking at the records.
func MessagesSize(b *recordcodec.Batch) int {
	return b.Bytes() + b.Len()*recordExtra + b.HeaderCount()*headerExtra
}

func plainPayloadLen(r *recordcodec.Record) int { return max(len(r.Value), 1) }

// plainHeadersLen is the length of r's user headers without an envelope; headerBytes is the sum of its header names and values.
func plainHeadersLen(r *recordcodec.Record, headerBytes int) int {
	n := headerBytes + r.HeaderCount*entryLen(len(prefixHeader), 0)
	if r.Key != nil {
		n += entryLen(len(nameKey), len(r.Key))
	}
	switch {
	case r.Value == nil:
		n += entryLen(len(nameValue), len(valueNull))
	case len(r.Value) == 0:
		n += entryLen(len(nameValue), len(valueEmpty))
	}
	return n
}

// messageWriter lays out records as messages.
type messageWriter struct {
	dst    []byte
	limits MessageLimits
	names  [][]byte // scratch of repeats
}

// write appends r, or fails and appends nothing.
func (w *messageWriter) write(r *recordcodec.Record, id messageID) error {
	origin, err := originTimestamp(r.Timestamp)
	if err != nil {
		return err
	}
	headerBytes, fits := 0, r.Key == nil || len(r.Key) > 0 && len(r.Key) <= maxHeaderField
	for h := r.Headers.Iter(); h.Next(); {
		headerBytes += len(h.Name) + len(h.Value)
		fits = fits && len(prefixHeader)+len(h.Name) <= maxHeaderField && len(h.Value) > 0 && len(h.Value) <= maxHeaderField
	}
	payload, headers := plainPayloadLen(r), plainHeadersLen(r, headerBytes)
	// The size goes first: it bounds the search for repeated names.
	enveloped := !fits || headers > w.limits.MaxUserHeaders || w.repeats(r)
	if enveloped {
		payload, headers = envelopeLen(r, headerBytes), entryLen(len(nameEnvelope), 1)
	}
	if payload > w.limits.MaxPayload {
		return errPayloadTooLarge
	}
	if headers > w.limits.MaxUserHeaders {
		return errHeadersTooLarge
	}
	w.dst = appendMessageHeader(w.dst, id, origin, payload, headers)
	if enveloped {
		w.dst = appendEnvelope(w.dst, r)
		w.dst = appendEntry(w.dst, nameEnvelope, nil, []byte{envelopeVersion})
		return nil
	}
	w.appendPlain(r)
	return nil
}

func (w *messageWriter) appendPlain(r *recordcodec.Record) {
	dst := w.dst
	if len(r.Value) == 0 {
		dst = append(dst, placeholder)
	} else {
		dst = append(dst, r.Value...)
	}
	if r.Key != nil {
		dst = appendEntry(dst, nameKey, nil, r.Key)
	}
	switch {
	case r.Value == nil:
		dst = appendEntry(dst, nameValue, nil, []byte(valueNull))
	case len(r.Value) == 0:
		dst = appendEntry(dst, nameValue, nil, []byte(valueEmpty))
	}
	for h := r.Headers.Iter(); h.Next(); {
		dst = appendEntry(dst, prefixHeader, h.Name, h.Value)
	}
	w.dst = dst
}

// fewHeaders is up to how many names are compared each with each.
const fewHeaders = 8

// repeats tells whether two of r's headers share a name.
func (w *messageWriter) repeats(r *recordcodec.Record) bool {
	if r.HeaderCount < 2 {
		return false
	}
	w.names = w.names[:0]
	for h := r.Headers.Iter(); h.Next(); {
		if r.HeaderCount <= fewHeaders {
			for _, name := range w.names {
				if bytes.Equal(name, h.Name) {
					return true
				}
			}
		}
		w.names = append(w.names, h.Name)
	}
	if r.HeaderCount <= fewHeaders {
		return false
	}
	// A record can have thousands: sorting keeps a hostile one cheap.
	slices.SortFunc(w.names, bytes.Compare)
	for i := 1; i < len(w.names); i++ {
		if bytes.Equal(w.names[i-1], w.names[i]) {
			return true
		}
	}
	return false
}
