// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
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
	producer          bridge.ProducerBatch
	release           func() // gives messages and their memory budget back
}

// batchTarget is where a batch is to go.
type batchTarget struct {
	topic     *bridge.Topic
	partition int32
	settings  *topicconfig.Effective
}

// batchRefusal is why a batch is not written.
type batchRefusal struct {
	code     int16
	records  []kmsg.ProduceResponseTopicPartitionErrorRecord // v8+
	text     *string                                         // v8+
	logStart bool                                            // the answer names the log start, as Kafka's does once it has looked into the batch
	// decompressed is how many bytes were decompressed to find that out, at most.
	decompressed int
}

func (r *batchRefusal) fill(out *kmsg.ProduceResponseTopicPartition) {
	out.ErrorCode, out.ErrorRecords, out.ErrorMessage = r.code, r.records, r.text
}

const (
	// messageForm is what the form of an Iggy message takes with a key and some headers, in bytes; firstGuess and
	// firstRatio say how far compressed records are expected to grow.
	messageForm    = 192
	firstGuess     = 64 << 10
	firstRatio     = 8
	minRecordSlot  = 64 // bytes of the partition cap that one record stands for
	headersPerSlot = 3
	zstdSince      = 7
)

// decodeForProduce checks one partition's record set and turns it into Iggy messages. Its memory is reserved before it
// is allocated, in one piece: to hold some while waiting for more could make requests wait for each other.
//
// How large compressed records become is not known before. The reservation begins with a guess, and a batch that does not
// fit starts over with a larger one: the bound that gzip allows is a thousand times its size, and to reserve that for
// everybody would let one batch at a time through.
func (a *API) decodeForProduce(ctx context.Context, version int16, to *batchTarget, sent []byte) (*messageBatch, *batchRefusal) {
	records, header, no := checkEnvelope(version, to.settings, sent)
	if no != nil {
		return nil, no
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
			no := decodeRefusal(err)
			no.decompressed = limits.MaxBytes
			return nil, no
		}
		if size := int64(batch.Bytes()) + int64(mapping.MessagesSize(batch)); size > need { // many small headers
			batch.Release()
			a.DecodeBudget.Release(need)
			need = size
			continue
		}
		var out *messageBatch
		if len(records) < len(sent) { // a broker drops in silence what is no batch; nothing that was sent is dropped here
			no = &batchRefusal{code: invalidRecord}
		} else {
			out, no = a.mapBatch(batch, to, need)
		}
		if no != nil {
			no.decompressed = batch.Bytes()
			a.DecodeBudget.Release(need)
		}
		batch.Release()
		return out, no
	}
}

// checkEnvelope checks what shows without decoding, in a broker's order: ProduceRequest.validateRecords, then
// UnifiedLog.analyzeAndValidateRecords, which goes by the size before it looks at the CRC. It returns the one batch that
// there may be, and its header.
func checkEnvelope(version int16, set *topicconfig.Effective, sent []byte) (batch []byte, h recordcodec.Header, no *batchRefusal) {
	size, no := nextBatch(sent)
	if no == nil && size == 0 { // null too: Kafka never answers that, which helps nobody
		no = &batchRefusal{code: invalidRecord}
	}
	if no != nil {
		return nil, h, no
	}
	batch = sent[:size]
	h, err := recordcodec.ParseHeader(batch)
	if err != nil {
		return nil, h, decodeRefusal(err)
	}
	codec, err := h.Codec()
	if err != nil || codec == recordcodec.CodecZstd && version < zstdSince {
		return nil, h, &batchRefusal{code: unsupportedCompressionTyp}
	}
	another, no := nextBatch(sent[size:])
	switch {
	case no != nil:
		return nil, h, no
	case another > 0:
		return nil, h, &batchRefusal{code: invalidRecord}
	case h.Transactional() || h.Control():
		return nil, h, &batchRefusal{code: unsupportedVersion}
	case h.BaseOffset != 0:
		return nil, h, &batchRefusal{code: invalidRecord, logStart: true}
	case size > set.MaxMessageBytes:
		return nil, h, &batchRefusal{code: messageTooLarge}
	}
	return batch, h, nil
}

// nextBatch is the size of the batch at the start of b, 0 if there is no whole one: a broker passes over what is left
// then (ByteBufferLogInputStream.nextBatch).
func nextBatch(b []byte) (size int, no *batchRefusal) {
	const (
		atLength, overhead = 8, 12 // of a batch; its length field does not count them
		atMagic, maxMagic  = 16, 2
		least              = 14 // what the smallest of the old formats takes
	)
	if len(b) < overhead {
		return 0, nil
	}
	length := int32(binary.BigEndian.Uint32(b[atLength:]))
	switch {
	case length < least:
		return 0, &batchRefusal{code: corruptMessage}
	case len(b) <= atMagic:
		return 0, nil
	case b[atMagic] > maxMagic: // below 0 too
		return 0, &batchRefusal{code: corruptMessage}
	case int64(length)+overhead > int64(len(b)):
		return 0, nil
	}
	return int(length) + overhead, nil
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
func (a *API) mapBatch(batch *recordcodec.Batch, to *batchTarget, need int64) (*messageBatch, *batchRefusal) {
	h := &batch.Header
	if !batch.Contiguous() || h.ProducerID >= 0 && h.BaseSequence < 0 {
		return nil, &batchRefusal{code: invalidRecord, logStart: true}
	}
	now := a.Now()
	if no := checkRecords(batch, to, now); no != nil {
		a.noteRefusedTimes(no, batch, to, now)
		return nil, no
	}
	if to.settings.LogAppendTime {
		// Nobody will see the producers' times. This one stands in for Iggy's, should the topic's type be changed later.
		batch.SetLogAppendTime(now.UnixMilli())
	}
	out := &messageBatch{count: batch.Len(), decompressed: batch.Bytes(), producer: producerOf(h)}
	out.maxTimestamp, out.maxTimestampIndex = batch.MaxTimestamp()
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

// producerOf names the batch of an idempotent producer (KIP-98). Sequences wrap from the largest number to 0, also
// inside a batch.
func producerOf(h *recordcodec.Header) bridge.ProducerBatch {
	if h.ProducerID < 0 {
		return bridge.ProducerBatch{}
	}
	return bridge.ProducerBatch{
		Idempotent: true, ID: h.ProducerID, Epoch: h.ProducerEpoch,
		FirstSequence: h.BaseSequence, LastSequence: int32((int64(h.BaseSequence) + int64(h.Count) - 1) & math.MaxInt32),
	}
}
