// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// History is what a run has shown to somebody outside: what clients were told, and what the store holds at the end.
// Times count from the begin of the run.
type History struct {
	Disturbed time.Duration // when faults began, from which their own times count
	Producers []ProducerHistory
	Consumers []ConsumerHistory
	Group     GroupHistory
	// Log is what is stored, by partition and offset.
	Log [][]Stored
	// Silences are when the gateway stood still, in order.
	Silences []Silence
	// Losses are what a store that forgets has forgotten when it came back, in order.
	Losses []Loss
}

// ID names a record: the number that its producer gave it.
type ID struct{ Producer, Number int }

func (id ID) String() string { return fmt.Sprintf("%d.%d", id.Producer, id.Number) }

// Stored is one message of the log.
type Stored struct {
	ID ID
	// Foreign is a payload that no producer has made; ID is nothing then.
	Foreign string
}

func (s Stored) String() string {
	if s.Foreign != "" {
		return fmt.Sprintf("%q", s.Foreign)
	}
	return s.ID.String()
}

// Guarantee is what a kind of producer is promised of the records that it was told to be written.
type Guarantee int

const (
	// AtLeastOnce: each is stored where the producer was told, and perhaps elsewhere, too.
	AtLeastOnce Guarantee = iota
	// InOrder: so it is, and the places are in the order of the numbers.
	InOrder
	// Once: every record, told of or not, is stored at most once, and in the order of the numbers.
	Once
)

func (g Guarantee) String() string { return [...]string{"at least once", "in order", "once"}[g] }

// ProducerHistory is one producer's. Its index in [History] is [ID].Producer.
type ProducerHistory struct {
	Name string
	Guarantee
	Sent   int      // it has sent the numbers below
	Acks   []Ack    // in the order in which they came
	Breaks []Break  // in the order in which they came
	Errors []string // others that its library did not deal with
}

// Break is the word that the records of a partition do not follow on what the broker knows (OUT_OF_ORDER_SEQUENCE_NUMBER):
// that is so if what came before them is gone. The library begins a new sequence, and what was under way there may be
// written twice.
type Break struct {
	Partition int // -1 where the library does not tell
	At        time.Duration
}

// Ack is the word that a record is written.
type Ack struct {
	Number, Partition int
	Offset            int64 // -1 where the library does not tell
	At                time.Duration
}

// ConsumerHistory is what a consumer without a group has read, from the beginning on.
type ConsumerHistory struct {
	Name   string
	Reads  []Read
	Errors []string
}

// Read is one record that a consumer was given.
type Read struct {
	Partition int
	Offset    int64
	Record    Stored
	At        time.Duration
}

// GroupHistory is what the members of a consumer group said, in the order in which it was heard.
type GroupHistory struct {
	Events []GroupEvent
	// Committed is what is committed at the end, by partition; -1: nothing. Nil without a group.
	Committed []int64
	// Late are commits that reached the gateway when those who made them had lost the connection, in order.
	Late []LateCommit
}

// LateCommit is a commit that arrives when its connection is lost. It is executed all the same, as by a broker (testLateCommit
// in the suite), over what was committed and confirmed meanwhile.
type LateCommit struct {
	At      time.Duration // before it is executed
	Offsets map[int]int64 // by partition
}

// GroupEvent is one member's word.
type GroupEvent struct {
	Member string
	At     time.Duration
	group.Event
}

// Silence is a time in which a program stood still.
type Silence struct{ From, To time.Duration }

// Loss says how far each partition went when the store had come back from a kill. Who was told or given something at or
// above that before, must not expect it any more.
type Loss struct {
	At   time.Duration
	Ends []int64
	// Answered is when the last answer of before may have come, at the earliest At. One request to several partitions has
	// one answer: it may have waited for another partition after this one's part was written.
	Answered time.Duration
}

// value is what a record holds: its ID and, unless size is 0, a blank and as many bytes that follow from the ID.
func value(id ID, size int) []byte {
	text := []byte(id.String())
	if size == 0 {
		return text
	}
	pattern := append(bytes.Clone(text), '|')
	text = append(text, ' ')
	for i := range size {
		text = append(text, pattern[i%len(pattern)])
	}
	return text
}

// parse is the inverse of value; what it does not know is foreign.
func parse(payload []byte) Stored {
	name, padding, _ := bytes.Cut(payload, []byte(" "))
	producer, number, _ := bytes.Cut(name, []byte("."))
	var id ID
	var err error
	if id.Producer, err = strconv.Atoi(string(producer)); err == nil {
		id.Number, err = strconv.Atoi(string(number))
	}
	if err != nil || !bytes.Equal(value(id, len(padding)), payload) {
		return Stored{Foreign: string(payload[:min(len(payload), 64)]) + " "}
	}
	return Stored{ID: id}
}
