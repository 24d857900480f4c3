// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// cleaner stands before an Iggy and plays its retention: messages before start are gone, in every partition.
type cleaner struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup
	start    atomic.Int64
}

func newCleaner(tb testing.TB, target string) *cleaner {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c := &cleaner{target: target, listener: l}
	c.running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			c.running.Go(func() { c.serve(nc) })
		}
	})
	tb.Cleanup(func() { // the gateway has closed its connections by then
		l.Close()
		c.running.Wait()
	})
	return c
}

// serve passes on one request at a time.
func (c *cleaner) serve(client net.Conn) {
	defer client.Close()
	iggy, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer iggy.Close()
	for {
		var head [iggywire.HeaderSize]byte
		code, body, err := readRequest(client, &head)
		if err != nil {
			return
		}
		if body, err = c.request(code, body); err != nil {
			return
		}
		if _, err := iggy.Write(append(iggywire.AppendRequestHeader(nil, code, len(body)), body...)); err != nil {
			return
		}
		status, answer, err := readIggyAnswer(iggy)
		if err != nil {
			return
		}
		if code == iggywire.CodeGetTopic && status == iggywire.StatusOK {
			if answer, err = c.topic(answer); err != nil {
				return
			}
		}
		if _, err := client.Write(append(iggywire.AppendResponseHeader(nil, status, len(answer)), answer...)); err != nil {
			return
		}
	}
}

func readRequest(r io.Reader, head *[iggywire.HeaderSize]byte) (iggywire.Code, []byte, error) {
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	code, n, err := iggywire.ParseRequestHeader(head[:])
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return code, body, err
}

func readIggyAnswer(r io.Reader) (iggywire.Status, []byte, error) {
	var head [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	status, n, err := iggywire.ParseResponseHeader(head[:])
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return status, body, err
}

// request makes polls begin at the first message kept.
func (c *cleaner) request(code iggywire.Code, body []byte) ([]byte, error) {
	if code != iggywire.CodePollMessages {
		return body, nil
	}
	poll, err := iggywire.ParsePoll(body)
	if err != nil {
		return nil, err
	}
	start := uint64(c.start.Load())
	if poll.Strategy == iggywire.PollFirst || poll.Strategy == iggywire.PollOffset && poll.Count > 0 {
		poll.Strategy, poll.Value = iggywire.PollOffset, max(poll.Value, start)
	}
	return poll.AppendTo(nil), nil
}

// topic takes the messages that are gone out of the counts.
func (c *cleaner) topic(answer []byte) ([]byte, error) {
	details, found, err := iggywire.ParseTopicDetails(answer)
	if err != nil || !found {
		return answer, err
	}
	for i := range details.PartitionList {
		p := &details.PartitionList[i]
		gone := min(uint64(c.start.Load()), p.Messages)
		if p.Messages > 0 {
			p.Size -= p.Size / p.Messages * gone
		}
		p.Messages -= gone
	}
	return details.AppendTo(nil), nil
}

// What retention took away is out of range, and the log start is the first record kept, everywhere.
func TestRetention(t *testing.T) {
	iggy := startIggy(t)
	clean := newCleaner(t, iggy.Addr().String())
	gw := start(t, setup{iggyAddr: clean.listener.Addr().String()})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for i := range int64(10) {
		stamp := 100 + i
		if i == 2 {
			stamp = 500 // the largest goes early
		}
		c.produce(topic, 0, stamped(stamp))
	}
	list := func(timestamp int64) string {
		return found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(8, part{topic: topic, timestamp: timestamp})))
	}
	if got := list(-3); got != "2 @500 epoch 0 error 0" {
		t.Errorf("before: largest timestamp %s", got)
	}

	clean.start.Store(4)
	for offset, code := range map[int64]int16{0: codeOffsetOutOfRange, 3: codeOffsetOutOfRange, 4: 0, 9: 0, 10: 0, 11: codeOffsetOutOfRange} {
		got := c.fetchOne(part{topic: topic, offset: offset})
		if got.ErrorCode != code || (len(got.RecordBatches) > 0) != (code == 0 && offset < 10) {
			t.Errorf("fetch from %d: error %d, %d bytes", offset, got.ErrorCode, len(got.RecordBatches))
		}
	}
	var got []string
	for _, timestamp := range []int64{-2, -4, -1, -3, 0, 102, 104, 107, 200} {
		got = append(got, list(timestamp))
	}
	want := []string{
		"4 @-1 epoch 0 error 0", "4 @-1 epoch 0 error 0", "10 @-1 epoch 0 error 0", "9 @109 epoch 0 error 0",
		"4 @104 epoch 0 error 0", "4 @104 epoch 0 error 0", "4 @104 epoch 0 error 0", "7 @107 epoch 0 error 0", "-1 @-1 epoch -1 error 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := c.fetchOne(part{topic: topic, offset: 5}); got.LogStartOffset != 4 || got.HighWatermark != 10 {
		t.Errorf("fetch: log start %d, end %d", got.LogStartOffset, got.HighWatermark)
	}
	produced := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: batch("v")})).Topics[0].Partitions[0]
	if produced.BaseOffset != 10 || produced.LogStartOffset != 4 {
		t.Errorf("produce: base %d, log start %d", produced.BaseOffset, produced.LogStartOffset)
	}
	bad := changed(batch("v"), setInt32(atCount, 2))
	if got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: bad})).Topics[0].Partitions[0]; got.LogStartOffset != 4 {
		t.Errorf("a refused batch: log start %d", got.LogStartOffset)
	}

	clean.start.Store(11) // everything
	if got := fmt.Sprint(list(-2), ", ", list(-1), ", ", list(-3), ", ", list(0)); got !=
		"11 @-1 epoch 0 error 0, 11 @-1 epoch 0 error 0, -1 @-1 epoch -1 error 0, -1 @-1 epoch -1 error 0" {
		t.Errorf("all gone: %s", got)
	}
	if got := c.fetchOne(part{topic: topic, offset: 11}); got.ErrorCode != 0 || got.LogStartOffset != 11 || got.HighWatermark != 11 {
		t.Errorf("all gone: %+v", got)
	}
	if got := c.fetchOne(part{topic: topic, offset: 10}); got.ErrorCode != codeOffsetOutOfRange {
		t.Errorf("all gone, the last: error %d", got.ErrorCode)
	}
	c.produce(topic, 0, batch("again"))
	if got := c.fetchOne(part{topic: topic, offset: 11}); len(records(t, got.RecordBatches)) != 1 {
		t.Errorf("written again: %+v", got)
	}
}

// Retention by size and by age, as a server does it: while a consumer reads from the start, what it has not read yet goes, and
// it is told so; everybody else sees the log begin later.
func TestRetentionMovesTheStart(t *testing.T) {
	for name, setting := range map[string][2]string{"by size": {"retention.bytes", "20000"}, "by age": {"retention.ms", "300"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true, SegmentSize: 4000, CleanerInterval: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := iggy.Close(); err != nil {
					t.Error(err)
				}
			})
			gw := start(t, setup{iggyAddr: iggy.Addr().String()})
			c, reader := gw.dial(t), gw.dial(t)
			topic := newName()
			c.createWith(topic, 1, setting[0], setting[1])
			const batches = 40
			read := int64(0)
			for i := range batches {
				c.produce(topic, 0, batchOf(batchForm{}, manyRecords(10, 50)...))
				if i == 3 {
					read = int64(len(records(t, reader.fetchOne(part{topic: topic, maxBytes: 1000}).RecordBatches)))
				}
			}
			const end = 10 * batches
			began := time.Now()
			for { // it must go past the reader within its time
				got := reader.fetchOne(part{topic: topic, offset: read})
				if got.ErrorCode == codeOffsetOutOfRange {
					break
				}
				if got.ErrorCode != 0 || time.Since(began) > patience {
					t.Fatalf("fetch at %d: error %d after %v", read, got.ErrorCode, time.Since(began))
				}
				if got := records(t, got.RecordBatches); got[0].offset > read {
					t.Fatalf("fetch at %d brings %d", read, got[0].offset)
				}
				time.Sleep(5 * time.Millisecond)
			}
			earliest := func() int64 {
				return ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(8, part{topic: topic, timestamp: -2})).Topics[0].Partitions[0].Offset
			}
			for last := int64(0); ; time.Sleep(400 * time.Millisecond) { // until it is done
				start := earliest()
				if start == last && start > read {
					break
				}
				last = start
			}
			start := c.starts(topic, end)
			if start <= read || start > end {
				t.Errorf("begins at %d, the reader was at %d", start, read)
			}
			if got := c.fetchOne(part{topic: topic, offset: start}); got.ErrorCode != 0 || start < end && records(t, got.RecordBatches)[0].offset != start {
				t.Errorf("fetch from the start: %+v", got)
			}
			if got := c.deleteRecords(part{topic: topic, offset: start - 1}); got != fmt.Sprintf("%s 0: %d", topic, start) {
				t.Errorf("delete what is gone: %s", got)
			}
		})
	}
}
