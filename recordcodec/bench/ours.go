// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// baseTimestamp (ms) is the first record's; each record is 1 ms after the one before.
const baseTimestamp = 1_700_000_000_000

// makeValues makes events in JSON, the same in every run, of which half is random: zstd leaves half of them, LZ4 two thirds.
func makeValues() [][]byte {
	random := rand.NewChaCha8([32]byte{1})
	values := make([][]byte, records)
	for i := range values {
		var id [40]byte
		random.Read(id[:])
		v := fmt.Appendf(nil, `{"user":%07d,"path":"/item/%04d","id":"%s"}`, i*7919%1e7, i%500, base64.RawURLEncoding.EncodeToString(id[:]))
		values[i] = append(v, bytes.Repeat([]byte(" "), valueSize-len(v))...)
	}
	return values
}

// encodeBatch appends a batch of the values to dst.
func encodeBatch(dst []byte, e *recordcodec.Encoder, codec recordcodec.Codec, values [][]byte) ([]byte, error) {
	w := e.Batch(dst, recordcodec.BatchOptions{Codec: codec, SizeHint: len(values) * (valueSize + 20)})
	head := recordcodec.RecordHead{Timestamp: baseTimestamp}
	for _, v := range values {
		head.Value = v
		w.Begin(&head)
		head.Offset++
		head.Timestamp++
	}
	return w.Finish()
}

// limits are more than the batches need.
func limits() recordcodec.Limits {
	return recordcodec.Limits{MaxBytes: 1 << 20, MaxRecords: records, MaxHeaders: records}
}

// ourDecode decodes a batch and looks at every record.
type ourDecode struct {
	decoder *recordcodec.Decoder
	batch   []byte
}

func (s *ourDecode) run() (total int, err error) {
	b, err := s.decoder.Decode(s.batch, limits())
	if err != nil {
		return 0, err
	}
	for it := b.Records(); it.Next(); {
		total += len(it.Record.Value)
	}
	b.Release()
	return total, nil
}

// ourEncode encodes values into memory that it has.
type ourEncode struct {
	encoder *recordcodec.Encoder
	codec   recordcodec.Codec
	values  [][]byte
	dst     []byte
}

func (s *ourEncode) run() (total int, err error) {
	s.dst, err = encodeBatch(s.dst[:0], s.encoder, s.codec, s.values)
	return len(s.values) * valueSize, err
}

// ourToMessages decodes a batch and lays its records out as messages, as a gateway does that takes them from a producer.
type ourToMessages struct {
	decoder  *recordcodec.Decoder
	batch    []byte
	messages []byte
}

func (s *ourToMessages) run() (total int, err error) {
	b, err := s.decoder.Decode(s.batch, limits())
	if err != nil {
		return 0, err
	}
	if size := mapping.MessagesSize(b); size > cap(s.messages) {
		s.messages = make([]byte, 0, size)
	}
	s.messages, err = mapping.AppendMessages(s.messages[:0], b, &mapping.IDs{ProducerID: 1}, mapping.MessageLimits{})
	total = len(s.messages) - b.Len()*mapping.MessageHeaderSize
	b.Release()
	return total, err
}

// ourFromMessages makes a batch of the messages of one poll, as a gateway does that serves them to a consumer.
type ourFromMessages struct {
	encoder  *recordcodec.Encoder
	messages []byte
	dst      []byte
}

func (s *ourFromMessages) run() (total int, err error) {
	var info mapping.BatchInfo
	s.dst, info, err = mapping.AppendRecordBatch(s.dst[:0], s.encoder, s.messages, mapping.BatchOptions{MaxBytes: 1 << 20})
	return info.Records * valueSize, err
}

// pollMessages are the values as a poll returns them.
func pollMessages(values [][]byte) []byte {
	ids := mapping.IDs{ProducerID: 1}
	var messages []byte
	for i, v := range values {
		messages = mapping.AppendMessage(messages, &mapping.Message{
			ID: ids.ID(i), Offset: uint64(i), OriginTimestamp: (baseTimestamp + uint64(i)) * 1000, Payload: v,
		})
	}
	return messages
}
