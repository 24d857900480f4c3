// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/iggy-kafka/iggy-kafka/recordcodec"

const (
	franz     = "franz-go"
	segmentio = "kafka-go"
)

// comparisons are the lines of the table. franz-go exports no encoder; its mere decoding is the measure for our ways from records to
// messages and back.
func comparisons(values [][]byte) ([]line, error) {
	d, e := recordcodec.NewDecoder(), recordcodec.NewEncoder()
	batches := make(map[recordcodec.Codec][]byte)
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		var err error
		if batches[codec], err = encodeBatch(nil, e, codec, values); err != nil {
			return nil, err
		}
	}
	var all []line
	each := func(operation string, ours func(recordcodec.Codec) side, peerName string, peer func(recordcodec.Codec) side) {
		for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
			all = append(all, line{operation, codec, ours(codec), peerName, peer(codec)})
		}
	}
	decode := func(c recordcodec.Codec) side { return &ourDecode{decoder: d, batch: batches[c]} }
	encode := func(c recordcodec.Codec) side { return &ourEncode{encoder: e, codec: c, values: values} }
	toMessages := func(c recordcodec.Codec) side { return &ourToMessages{decoder: d, batch: batches[c]} }
	franzs := func(c recordcodec.Codec) side { return newFranzDecode(batches[c]) }
	each("decode", decode, franz, franzs)
	each("decode", decode, segmentio, func(c recordcodec.Codec) side { return newSegmentioDecode(batches[c]) })
	each("encode", encode, segmentio, func(c recordcodec.Codec) side { return &segmentioEncode{codec: c, values: values} })
	each("decode to messages", toMessages, franz, franzs)
	fromMessages := &ourFromMessages{encoder: e, messages: pollMessages(values)}
	return append(all, line{"messages to batch", recordcodec.CodecNone, fromMessages, franz, franzs(recordcodec.CodecNone)}), nil
}
