// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

const (
	// readTimeout bounds the polls that carry the records.
	readTimeout = 10 * time.Second
	// readTogether is how many partitions one fetch reads at a time.
	readTogether = 8

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
	f.fields = f.metaSize()
	ready, quiet := f.ready(), f.quiet(quietAge)
	f.share(ready)
	need := int64(f.fields)
	for i, it := range ready {
		n := it.want
		if i == 0 {
			n = max(n, it.messageSize()) // it gets a record whatever its size
		}
		need += int64(n)
	}
	for {
		if err := f.reserve(ctx, need); err != nil {
			return err
		}
		f.poll(ctx, ready, quiet)
		got := int64(f.fields) + f.trim(ready)
		if f.reserveMore(got - need) {
			break
		}
		// The first record is larger than what was reserved for it, and there is no more at once. To wait while this much
		// is held could be to wait for ever, as others do the same: all of it goes back, now that the size is known.
		ready[0].want, need, quiet = len(ready[0].records), got, nil
		f.drop()
	}
	f.dropGone()
	for _, it := range f.live {
		switch {
		case it.code != none || len(it.records) > 0:
		case it.err != nil:
			it.code = f.errorCode(it.err)
		case !it.known: // and nobody says why
			it.code = notLeaderOrFollower
		}
	}
	return nil
}

// reserve takes n bytes of the response budget. It waits as long as a client may take to read its answer.
func (f *fetchRun) reserve(ctx context.Context, n int64) error {
	release, err := f.api.reserve(ctx, n)
	if err == nil {
		f.unreserve = append(f.unreserve, release)
	}
	return err
}

// reserveMore takes more if there is more.
func (f *fetchRun) reserveMore(n int64) bool {
	if n <= 0 {
		return true
	}
	if !f.api.ResponseBudget.TryAcquire(n) {
		return false
	}
	f.unreserve = append(f.unreserve, func() { f.api.ResponseBudget.Release(n) })
	return true
}

// poll reads the partitions that are to have records. Those with nothing to read are asked about meanwhile: what native
// producers wrote to them must not stay unseen for as long as others have a backlog.
func (f *fetchRun) poll(ctx context.Context, ready []*fetchItem, quiet [][]*fetchItem) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(readTogether)
	for _, it := range ready {
		if it.want > 0 && it.code == none {
			group.Go(func() error {
				f.readPartition(ctx, it)
				return nil
			})
		}
	}
	for _, items := range quiet {
		group.Go(func() error {
			f.askAbout(ctx, items)
			return nil
		})
	}
	_ = group.Wait() // every item has its own code
	for _, items := range quiet {
		f.look(items)
	}
}

// errorCode is why a partition could not be read.
func (f *fetchRun) errorCode(err error) int16 {
	if errors.Is(err, coordinator.ErrLoadInProgress) { // the topic's settings are not known yet
		return notLeaderOrFollower
	}
	return f.api.code(opFetch, err, false)
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
	return int(min(int64(max(f.req.MaxBytes, 0)), int64(f.api.FetchMaxBytes), max(f.api.ResponseBudget.Largest()-int64(f.fields), 0)))
}

// share divides the limit: first everybody gets an equal part as far as it has use for it, so that none starves, but
// not less than a message. When that is too much for all, those at the end get nothing and are not read: clients put
// who was served last. What is left goes to the first ones. The first gets something in any case: it makes progress
// whatever the limits are.
func (f *fetchRun) share(ready []*fetchItem) {
	if len(ready) == 0 {
		return
	}
	left := f.limit()
	part := left / len(ready)
	for _, it := range ready {
		least := min(it.use(), it.messageSize()+recordcodec.HeaderSize)
		if least <= left {
			it.want = min(it.use(), max(part, least), left)
			left -= it.want
		}
	}
	for _, it := range ready {
		if it.want > 0 {
			more := min(it.use()-it.want, left)
			it.want += more
			left -= more
		}
	}
	ready[0].want = max(ready[0].want, 1)
}

// messageSize is the average, or a guess when it is not known, in bytes.
func (it *fetchItem) messageSize() int {
	if it.bounds.MessageSize == 0 {
		return unknownMessageSize
	}
	return int(it.bounds.MessageSize)
}

// use is how many bytes a partition could answer: a guess, on the generous side, and at most partition_max_bytes.
func (it *fetchItem) use() int {
	if it.bounds.MessageSize == 0 {
		return int(max(it.MaxBytes, 0))
	}
	guess := it.availableBytes() + it.availableBytes()/4 + recordcodec.HeaderSize
	return int(min(int64(max(it.MaxBytes, 0)), guess))
}

// readPartition fills it.records with up to it.want bytes of record batches, or with one record that is larger.
func (f *fetchRun) readPartition(ctx context.Context, it *fetchItem) {
	a := f.api
	settings, err := a.effective(it.topic)
	if it.err = err; err != nil {
		return
	}
	position := it.Offset
	size := int64(it.messageSize())
	count := min(int64(it.want)/size+1, firstCount)
	for range pollRounds {
		m, err := a.Bridge.Read(ctx, a.session(f.conn), it.topic, it.Partition, position, int(min(count, it.bounds.Next-position)))
		if err != nil {
			it.err = err
			return
		}
		it.bounds.Next = max(it.bounds.Next, m.Current+1)
		if m.Count == 0 { // the partition went back: what is known of it is void
			m.Release()
			f.askAbout(ctx, []*fetchItem{it})
			f.look([]*fetchItem{it})
			return
		}
		if first := int64(iggywire.MessageOffset(m.Messages)); first > position && it.records == nil {
			m.Release()
			it.code = offsetOutOfRange // retention took it away since
			return
		}
		done, next, err := f.appendBatch(it, settings, m, position)
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
func (f *fetchRun) appendBatch(it *fetchItem, settings *topicconfig.Effective, m bridge.Messages, from int64) (done bool, next int64, err error) {
	a := f.api
	first := it.records == nil
	room := it.want - len(it.records)
	if first {
		it.records = a.buffers.get(min(room, len(m.Messages)+recordcodec.HeaderSize))
	}
	before, begun := len(it.records), time.Now()
	records, info, err := mapping.AppendRecordBatch(it.records, a.encoder, m.Messages, mapping.BatchOptions{
		Codec: f.codec(settings), LogAppendTime: settings.LogAppendTime, MaxBytes: room, StartOffset: uint64(from),
	})
	it.encoding += time.Since(begun)
	if err != nil {
		if first {
			a.buffers.put(it.records)
			it.records = nil
		}
		return true, from, fmt.Errorf("%w: %w", bridge.ErrMalformed, err)
	}
	it.records = records
	a.noteUnmappable(it.topic, it.Partition, info)
	if !first && info.Bytes > room { // its first record alone is too large: it begins the next answer
		it.records = records[:before]
		return true, from, nil
	}
	return info.Truncated || info.Records == 0, info.LastOffset + 1, nil
}

// codec is the compression that the topic or the gateway wants, as far as the version knows it.
func (f *fetchRun) codec(settings *topicconfig.Effective) recordcodec.Codec {
	if codec := settings.Codec(f.api.FetchCompression); codec != recordcodec.CodecZstd || f.req.Version >= zstdFetchSince {
		return codec
	}
	return recordcodec.CodecNone
}

// trim drops what went over the limits, and returns the bytes that are left: a record larger than its partition's part
// is only sent as the answer's first.
func (f *fetchRun) trim(ready []*fetchItem) int64 {
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
	return int64(total)
}

// drop gives back the records and what was reserved for the answer.
func (f *fetchRun) drop() {
	for _, it := range f.live {
		if it.records != nil {
			f.api.buffers.put(it.records)
			it.records = nil
		}
	}
	for _, release := range f.unreserve {
		release()
	}
	f.unreserve = nil
}
