// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

const (
	noTimestamp = -1
	// maxErrorRecords is how many refused records an answer lists, of all partitions together; a broker lists all.
	maxErrorRecords = 1000
	// shownErrorRecords is how many of them the text for the whole batch repeats.
	shownErrorRecords = 3
)

const textInvalidTimestamp = "One or more records have been rejected due to invalid timestamp"

// recordCheck holds the records of one batch against the settings of its topic, in the words and by the rules of
// org.apache.kafka.storage.internals.log.LogValidator.
type recordCheck struct {
	to  *batchTarget
	set *topicconfig.Effective
	now int64 // ms

	count     int // of refused records
	timestamp bool
	records   []kmsg.ProduceResponseTopicPartitionErrorRecord
}

// checkRecords says which records the topic does not take; nil if it takes all.
func checkRecords(batch *recordcodec.Batch, to *batchTarget, now time.Time) *batchRefusal {
	c := recordCheck{to: to, set: to.settings, now: now.UnixMilli()}
	marked := batch.Header.LogAppendTime()
	if latest, _ := batch.MaxTimestamp(); !c.mustLook(latest, marked) {
		return nil
	}
	i := 0
	for it := batch.Records(); it.Next(); i++ {
		switch r := &it.Record; {
		case c.set.Compact && r.Key == nil:
			c.refuse(i, false, "Compacted topic cannot accept message without key in topic partition %s-%d", to.topic.Name, to.partition)
		case !c.set.LogAppendTime && r.Timestamp != noTimestamp:
			if c.outOfRange(r.Timestamp) {
				c.refuse(i, true, "Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
					r.Timestamp, i, c.now-c.set.TimestampBeforeMax, c.now+c.set.TimestampAfterMax)
			}
		case marked:
			c.refuse(i, true, "Invalid timestamp type in message DefaultRecord(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes). Producer should not set timestamp type to LogAppendTime.",
				i, r.Timestamp, len(r.Key), len(r.Value))
		}
	}
	return c.refusal()
}

// mustLook tells whether there may be a record to refuse: most topics need no look at every single one.
func (c *recordCheck) mustLook(latest int64, marked bool) bool {
	switch {
	case c.set.Compact, marked:
		return true
	case c.set.LogAppendTime:
		return false
	}
	return c.outOfRange(latest) || c.set.TimestampBeforeMax < math.MaxInt64
}

// outOfRange reckons as a broker does, overflow included.
func (c *recordCheck) outOfRange(timestamp int64) bool {
	age := c.now - timestamp
	return age > c.set.TimestampBeforeMax || -age > c.set.TimestampAfterMax
}

func (c *recordCheck) refuse(index int, timestamp bool, format string, args ...any) {
	c.count++
	c.timestamp = c.timestamp || timestamp
	if len(c.records) < maxErrorRecords {
		c.records = append(c.records, errorRecord(index, format, args...))
	}
}

// refusal is the answer for the batch: one wrong timestamp makes it one of timestamps.
func (c *recordCheck) refusal() *batchRefusal {
	switch {
	case c.count == 0:
		return nil
	case c.timestamp:
		text := textInvalidTimestamp
		return &batchRefusal{code: invalidTimestamp, records: c.records, text: &text, logStart: true}
	}
	var shown []string
	for _, r := range c.records[:min(len(c.records), shownErrorRecords)] {
		shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", r.RelativeOffset, *r.ErrorMessage))
	}
	text := fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]",
		c.count, strings.Join(shown, ", "))
	return &batchRefusal{code: invalidRecord, records: c.records, text: &text, logStart: true}
}

func errorRecord(index int, format string, args ...any) kmsg.ProduceResponseTopicPartitionErrorRecord {
	r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
	r.RelativeOffset, r.ErrorMessage = int32(index), message(format, args...)
	return r
}
