// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

const (
	// A poll's count is sized by the average message, which the next ones need not resemble: the first poll asks for
	// firstCount at most, and what it brings sizes the following ones, pollRounds in all.
	firstCount = 4096
	maxCount   = 65536
	pollRounds = 8
	// unknownMessageSize stands for the average when nothing is known.
	unknownMessageSize = 1024

	zstdFetchSince = 10
)

// read polls the partitions that have records, several at once, within the bounds that the client and the settings
// give. An error closes the connection.
func (f *fetchRun) read(ctx context.Context) error {
	ready := f.ready()
	f.share(ready)
	for _, it := range ready {
		f.reserved += int64(it.want)
	}
	if err := f.reserve(ctx, f.reserved); err != nil {
		f.reserved = 0
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(readTogether)
	for _, it := range ready {
		if it.want > 0 {
			group.Go(func() error {
				f.readPartition(ctx, it)
				return nil
			})
		}
	}
	_ = group.Wait() // every item has its own code
	f.trim(ready)
	for _, it := range f.live {
		if it.code == none && it.records == nil && it.err != nil {
			it.code, it.aborted = f.api.code(opFetch, it.err, false), true
		}
	}
	return nil
}

// reserve takes n bytes of the response budget, waiting as long as a client may take to read an answer.
func (f *fetchRun) reserve(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, f.api.WriteTimeout)
	defer cancel()
	if err := f.api.ResponseBudget.Acquire(ctx, n); err != nil {
		return fmt.Errorf("%w: %w", errBudget, err)
	}
	return nil
}

func (f *fetchRun) ready() []*fetchItem {
	var ready []*fetchItem
	for _, it := range f.live {
		if it.code == none && it.available() > 0 {
			ready = append(ready, it)
		}
	}
	return ready
}

// limit is how many bytes of records the answer may have. One large record may go over it (KIP-74).
func (f *fetchRun) limit() int {
	return int(min(int64(max(f.req.MaxBytes, 0)), int64(f.api.FetchMaxBytes), f.api.ResponseBudget.Largest()))
}

// share divides the limit: first everybody gets an equal part as far as it has use for it, so that none starves; what
// is left goes to the first ones. The first gets something in any case: it makes progress whatever the limits are.
func (f *fetchRun) share(ready []*fetchItem) {
	if len(ready) == 0 {
		return
	}
	left := f.limit()
	part := left / len(ready)
	for _, it := range ready {
		it.want = min(it.use(), part)
		left -= it.want
	}
	for _, it := range ready {
		more := min(it.use()-it.want, left)
		it.want += more
		left -= more
	}
	ready[0].want = max(ready[0].want, 1)
}

// use is how many bytes a partition could answer: a guess, on the generous side, and at most partition_max_bytes.
func (it *fetchItem) use() int {
	if it.bounds.MessageSize == 0 {
		return it.maxBytes
	}
	guess := it.availableBytes() + it.availableBytes()/4 + recordcodec.HeaderSize
	return int(min(int64(it.maxBytes), guess))
}

// readPartition fills it.records with up to it.want bytes of record batches, or with one record that is larger.
func (f *fetchRun) readPartition(ctx context.Context, it *fetchItem) {
	a := f.api
	position := it.offset
	size := it.bounds.MessageSize
	if size == 0 {
		size = unknownMessageSize
	}
	count := min(int64(it.want)/size+1, firstCount)
	for range pollRounds {
		m, err := a.Bridge.Read(ctx, a.Bridge.Self(), it.topic, it.partition, position, int(min(count, it.bounds.Next-position)))
		if err != nil {
			it.err = err
			return
		}
		it.bounds.Next = max(it.bounds.Next, m.Current+1)
		if m.Count == 0 { // the partition went back
			m.Release()
			return
		}
		if first := int64(iggywire.MessageOffset(m.Messages)); first > position && it.records == nil {
			m.Release()
			it.code = offsetOutOfRange // retention took it away since
			return
		}
		done, next, err := f.appendBatch(it, m, position)
		size = max(int64(len(m.Messages)/m.Count), 1)
		m.Release()
		if err != nil {
			it.err = err
			return
		}
		if position = next; done || position >= it.bounds.Next || len(it.records) >= it.want/2 {
			return
		}
		count = min(int64(it.want-len(it.records))/size+1, maxCount)
	}
}

// appendBatch adds the messages of one poll as one record batch. done: there is room for no more.
func (f *fetchRun) appendBatch(it *fetchItem, m bridge.Messages, from int64) (done bool, next int64, err error) {
	a := f.api
	first := it.records == nil
	room := it.want - len(it.records)
	if first {
		it.records = a.buffers.get(min(room, len(m.Messages)+recordcodec.HeaderSize))
	}
	before := len(it.records)
	records, info, err := mapping.AppendRecordBatch(it.records, a.encoder, m.Messages, mapping.BatchOptions{
		Codec: f.codec(), MaxBytes: room, StartOffset: uint64(from),
	})
	if err != nil {
		return true, from, fmt.Errorf("%w: %w", bridge.ErrMalformed, err)
	}
	it.records = records
	if info.Unmappable > 0 {
		a.Logger.Warn("messages that are no Kafka records served as they are", "topic", it.topic.Name, "partition", it.partition,
			"count", info.Unmappable, "offset", info.BaseOffset)
	}
	if !first && info.Bytes > room { // its first record alone is too large: it begins the next answer
		it.records = records[:before]
		return true, from, nil
	}
	return info.Truncated || info.Records == 0, info.LastOffset + 1, nil
}

func (f *fetchRun) codec() recordcodec.Codec {
	if codec := f.api.FetchCompression; codec != recordcodec.CodecZstd || f.req.Version >= zstdFetchSince {
		return codec
	}
	return recordcodec.CodecNone
}

// trim drops what went over the limits: a record larger than its partition's part is only sent as the answer's first.
func (f *fetchRun) trim(ready []*fetchItem) {
	total, limit := 0, f.limit()
	for _, it := range ready {
		n := len(it.records)
		if total > 0 && (n > it.want || total+n > limit) {
			f.api.buffers.put(it.records)
			it.records = nil
			continue
		}
		total += n
	}
}

// release gives back what the answer holds.
func (f *fetchRun) release() {
	for _, it := range f.live {
		if it.records != nil {
			f.api.buffers.put(it.records)
			it.records = nil
		}
	}
	if f.reserved > 0 {
		f.api.ResponseBudget.Release(f.reserved)
		f.reserved = 0
	}
}
