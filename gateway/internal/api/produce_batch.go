// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// messageBatch is a Kafka batch in Iggy's form, on its way to a lane.
type messageBatch struct {
	messages          []byte
	count             int
	decompressed      int
	maxTimestamp      int64
	maxTimestampIndex int
	release           func() // gives messages and their memory budget back
}

// batchRefusal is why a batch is not written.
type batchRefusal struct {
	code     int16
	records  []kmsg.ProduceResponseTopicPartitionErrorRecord // v8+
	text     *string                                         // v8+
	logStart bool                                            // the answer names the log start, as Kafka's does once it has looked into the batch
}

func (r *batchRefusal) fill(out *kmsg.ProduceResponseTopicPartition) {
	out.ErrorCode, out.ErrorRecords, out.ErrorMessage = r.code, r.records, r.text
}

const (
	// messageForm is what the form of an Iggy message takes with a key and some headers, in bytes; firstGuess and
	// firstRatio say how far compressed records are expected to grow.
	messageForm       = 192
	firstGuess        = 64 << 10
	firstRatio        = 8
	minRecordSlot     = 64 // bytes of the partition cap that one record stands for
	headersPerSlot    = 3
	zstdSince         = 7
	timestampAfterMax = time.Hour // message.timestamp.after.max.ms
	maxErrorRecords   = 1000
)

// decodeForProduce checks one partition's record set and turns it into Iggy messages. Its memory is reserved before it
// is allocated, in one piece: to hold some while waiting for more could make requests wait for each other.
//
// How large compressed records become is not known before. The reservation begins with a guess, and a batch that does not
// fit starts over with a larger one: the bound that gzip allows is a thousand times its size, and to reserve that for
// everybody would let one batch at a time through.
func (a *API) decodeForProduce(ctx context.Context, version int16, records []byte) (*messageBatch, *batchRefusal) {
	if no := a.checkEnvelope(version, records); no != nil {
		return nil, no
	}
	header, err := recordcodec.ParseHeader(records)
	if err != nil {
		return nil, decodeRefusal(err)
	}
	bound, err := recordcodec.MaxDecompressed(records)
	if err != nil {
		return nil, decodeRefusal(err)
	}
	limits := recordcodec.Limits{
		MaxRecords: a.PartitionCap / minRecordSlot,
		MaxHeaders: a.PartitionCap / minRecordSlot * headersPerSlot,
	}
	bound = min(bound, a.PartitionCap)
	limits.MaxBytes = min(bound, max(firstRatio*len(records), firstGuess))
	forms := messageForm * int64(min(max(header.Count, 0), int32(limits.MaxRecords)))
	need := int64(2*limits.MaxBytes) + forms
	for {
		if err := a.DecodeBudget.Acquire(ctx, need); err != nil {
			if errors.Is(err, budget.ErrTooLarge) {
				return nil, &batchRefusal{code: messageTooLarge}
			}
			return nil, &batchRefusal{code: requestTimedOut}
		}
		batch, err := a.decoder.Decode(records, limits)
		if errors.Is(err, recordcodec.ErrTooLarge) && limits.MaxBytes < bound {
			a.DecodeBudget.Release(need)
			limits.MaxBytes = min(bound, firstRatio*limits.MaxBytes)
			need = int64(2*limits.MaxBytes) + forms
			continue
		}
		if err != nil {
			a.DecodeBudget.Release(need)
			return nil, decodeRefusal(err)
		}
		if size := int64(batch.Bytes()) + int64(mapping.MessagesSize(batch)); size > need { // many small headers
			batch.Release()
			a.DecodeBudget.Release(need)
			need = size
			continue
		}
		out, no := a.mapBatch(batch, need)
		batch.Release()
		if no != nil {
			a.DecodeBudget.Release(need)
		}
		return out, no
	}
}

// checkEnvelope checks what shows without decoding, in the order of Kafka's UnifiedLog.analyzeAndValidateRecords.
func (a *API) checkEnvelope(version int16, records []byte) *batchRefusal {
	if len(records) == 0 { // null too: Kafka never answers that, which helps nobody
		return &batchRefusal{code: invalidRecord}
	}
	h, err := recordcodec.ParseHeader(records)
	if err != nil {
		return decodeRefusal(err)
	}
	size := int64(h.Length) + 12 // offset and length themselves
	switch {
	case size > int64(len(records)):
		return &batchRefusal{code: corruptMessage}
	case size < int64(len(records)): // a second batch, or rubbish
		return &batchRefusal{code: invalidRecord}
	case len(records) > topicconfig.DefaultMaxMessageBytes:
		return &batchRefusal{code: messageTooLarge}
	}
	codec, err := h.Codec()
	switch {
	case err != nil, codec == recordcodec.CodecZstd && version < zstdSince:
		return &batchRefusal{code: unsupportedCompressionTyp}
	case h.Transactional() || h.Control():
		return &batchRefusal{code: unsupportedVersion}
	}
	return nil
}

// decodeRefusal maps what recordcodec found. Structural faults carry no text.
func decodeRefusal(err error) *batchRefusal {
	switch {
	case errors.Is(err, recordcodec.ErrUnknownCodec):
		return &batchRefusal{code: unsupportedCompressionTyp}
	case errors.Is(err, recordcodec.ErrTooLarge):
		return &batchRefusal{code: messageTooLarge}
	case errors.Is(err, recordcodec.ErrLegacy):
		return &batchRefusal{code: invalidRecord} // the format shows before anybody looks into the batch
	case errors.Is(err, recordcodec.ErrInvalid):
		return &batchRefusal{code: invalidRecord, logStart: true}
	default:
		return &batchRefusal{code: corruptMessage}
	}
}

// mapBatch lays the records out as messages. On success the need bytes of budget go with them.
func (a *API) mapBatch(batch *recordcodec.Batch, need int64) (*messageBatch, *batchRefusal) {
	h := &batch.Header
	if h.BaseOffset != 0 || !batch.Contiguous() || h.ProducerID >= 0 && h.BaseSequence < 0 {
		return nil, &batchRefusal{code: invalidRecord, logStart: true}
	}
	out := &messageBatch{count: batch.Len(), decompressed: batch.Bytes()}
	if no := out.checkTimestamps(batch, a.Now()); no != nil {
		return nil, no
	}
	ids := mapping.IDs{ProducerID: h.ProducerID, Epoch: h.ProducerEpoch, BaseSequence: h.BaseSequence}
	if h.ProducerID < 0 {
		if _, err := a.Rand.Read(ids.Random[:]); err != nil {
			a.Logger.Error("no randomness for message ids", "err", err)
			return nil, &batchRefusal{code: unknownServerError}
		}
	}
	buf := a.buffers.get(mapping.MessagesSize(batch))
	messages, err := mapping.AppendMessages(buf, batch, &ids, mapping.MessageLimits{MaxPayload: a.MaxMessageSize})
	if err != nil {
		a.buffers.put(buf)
		return nil, mapRefusal(err)
	}
	// From here on only the messages are held, until Iggy has them.
	held := min(need, int64(cap(messages)))
	a.DecodeBudget.Shrink(need, held)
	out.messages = messages
	out.release = func() {
		a.buffers.put(messages)
		a.DecodeBudget.Release(held)
	}
	return out, nil
}

// mapRefusal says why a record does not fit Iggy.
func mapRefusal(err error) *batchRefusal {
	var record *mapping.RecordError
	if !errors.As(err, &record) {
		return decodeRefusal(err)
	}
	if errors.Is(err, mapping.ErrTimestamp) {
		text := textInvalidTimestamp
		return &batchRefusal{code: invalidTimestamp, text: &text, logStart: true, records: []kmsg.ProduceResponseTopicPartitionErrorRecord{
			errorRecord(record.Index, "Timestamp of message with offset %d is out of range.", record.Index)}}
	}
	return decodeRefusal(err)
}

func errorRecord(index int, format string, args ...any) kmsg.ProduceResponseTopicPartitionErrorRecord {
	r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
	r.RelativeOffset, r.ErrorMessage = int32(index), message(format, args...)
	return r
}

// checkTimestamps notes the largest timestamp, and refuses the batch when records lie too far in the future
// (org.apache.kafka.storage.internals.log.LogValidator).
func (m *messageBatch) checkTimestamps(batch *recordcodec.Batch, now time.Time) *batchRefusal {
	latest := now.Add(timestampAfterMax).UnixMilli()
	m.maxTimestamp, m.maxTimestampIndex = batch.MaxTimestamp()
	if m.maxTimestamp <= latest {
		return nil
	}
	var bad []kmsg.ProduceResponseTopicPartitionErrorRecord
	i := 0
	for it := batch.Records(); it.Next() && len(bad) < maxErrorRecords; i++ {
		if ts := it.Record.Timestamp; ts > latest {
			bad = append(bad, errorRecord(i, "Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]", ts, i, earliestTimestamp(now), latest))
		}
	}
	text := textInvalidTimestamp
	return &batchRefusal{code: invalidTimestamp, records: bad, text: &text, logStart: true}
}

const textInvalidTimestamp = "One or more records have been rejected due to invalid timestamp"

// earliestTimestamp is the lower bound that Kafka prints with the default message.timestamp.before.max.ms, the largest
// 64-bit number: now minus that.
func earliestTimestamp(now time.Time) int64 { return now.UnixMilli() - math.MaxInt64 }
