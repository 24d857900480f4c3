// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"fmt"
	"log"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// The two directions of an Iggy connector. What it reads from and writes to, a Kafka log and an Iggy connection, is up to it.
func Example_connector() {
	encoder, decoder := recordcodec.NewEncoder(), recordcodec.NewDecoder()

	// A batch as a Kafka client would send it.
	w := encoder.Batch(nil, recordcodec.BatchOptions{Codec: recordcodec.CodecZstd})
	for i, fruit := range []string{"apple", "pear"} {
		trace := []byte("t-1")
		w.Begin(&recordcodec.RecordHead{
			Offset:      int64(i),
			Timestamp:   1_700_000_000_000,
			Key:         []byte("fruit"),
			Value:       []byte(fruit),
			HeaderCount: 1,
			HeaderBytes: recordcodec.HeaderLen([]byte("trace"), trace),
		})
		w.Header([]byte("trace"), trace)
	}
	kafkaBatch, err := w.Finish()
	if err != nil {
		log.Fatal(err)
	}

	// Kafka to Iggy: decode within bounds, and lay the messages out for one send.
	batch, err := decoder.Decode(kafkaBatch, recordcodec.Limits{MaxBytes: 1 << 20, MaxRecords: 1000, MaxHeaders: 3000})
	if err != nil {
		log.Fatal(err)
	}
	ids := mapping.IDs{ProducerID: batch.Header.ProducerID, Epoch: batch.Header.ProducerEpoch, BaseSequence: batch.Header.BaseSequence}
	ids.Random = [10]byte{1, 2, 3} // for each send anew, from crypto/rand
	messages, err := mapping.AppendMessages(make([]byte, 0, mapping.MessagesSize(batch)), batch, &ids, mapping.MessageLimits{})
	batch.Release()
	if err != nil {
		log.Fatal(err)
	}

	// What a poll returns of them: the server has given them offsets.
	var polled []byte
	for offset := uint64(0); len(messages) > 0; offset++ {
		m, n, err := mapping.ParseMessage(messages)
		if err != nil {
			log.Fatal(err)
		}
		messages = messages[n:]
		m.Offset = offset
		polled = mapping.AppendMessage(polled, &m)
	}

	// Iggy to Kafka: all messages of a poll as one batch ...
	_, info, err := mapping.AppendRecordBatch(nil, encoder, polled, mapping.BatchOptions{Codec: recordcodec.CodecLZ4, MaxBytes: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("a batch of %d records, offsets %d to %d\n", info.Records, info.BaseOffset, info.LastOffset)

	// ... or one by one.
	var headers recordcodec.RawHeaders
	for len(polled) > 0 {
		m, n, err := mapping.ParseMessage(polled)
		if err != nil {
			log.Fatal(err)
		}
		polled = polled[n:]
		r, err := mapping.ToRecord(&m, headers)
		if err != nil {
			log.Fatal(err)
		}
		headers = r.Headers // its memory serves the next record
		fmt.Printf("%d: %s = %s at %d\n", m.Offset, r.Key, r.Value, r.Timestamp)
		for h := r.Headers.Iter(); h.Next(); {
			fmt.Printf("   %s: %s\n", h.Name, h.Value)
		}
	}

	// Output:
	// a batch of 2 records, offsets 0 to 1
	// 0: fruit = apple at 1700000000000
	//    trace: t-1
	// 1: fruit = pear at 1700000000000
	//    trace: t-1
}
