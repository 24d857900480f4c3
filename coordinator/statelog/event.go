// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"fmt"
	"time"
)

// Event is something worth a line in a log: Loaded, Checkpointed, Disagreed, Restored, Failed or Fenced.
type Event interface {
	fmt.Stringer
	event()
}

// Loaded tells that a partition was read.
type Loaded struct {
	Partition int
	// From is where reading began: at the newest whole checkpoint, or at 0. Messages were read, Entries came of them.
	From     int64
	Messages int64
	Entries  int
	Took     time.Duration
}

// Checkpointed tells that a checkpoint is whole.
type Checkpointed struct {
	Partition int
	Offset    int64
	Entries   int
}

// Disagreed tells that the log is not what this gateway wrote and read: messages are gone, or one came late that was given
// up on. A checkpoint follows, and then Restored.
type Disagreed struct {
	Partition int
	Reason    string
}

// Restored tells that the log says again what this gateway knows.
type Restored struct{ Partition int }

// Failed tells that the storage failed. What waited for it was refused.
type Failed struct {
	Partition int
	Err       error
}

// Fenced tells that another gateway has taken over.
type Fenced struct {
	Partition int
	By        string
}

func (Loaded) event()       {}
func (Checkpointed) event() {}
func (Disagreed) event()    {}
func (Restored) event()     {}
func (Failed) event()       {}
func (Fenced) event()       {}

func (e Loaded) String() string {
	return fmt.Sprintf("partition %d: loaded %d messages from offset %d in %v: %d entries", e.Partition, e.Messages, e.From, e.Took.Round(time.Millisecond), e.Entries)
}

func (e Checkpointed) String() string {
	return fmt.Sprintf("partition %d: checkpoint at offset %d with %d entries", e.Partition, e.Offset, e.Entries)
}

func (e Disagreed) String() string {
	return fmt.Sprintf("partition %d: the log and the state in memory disagree: %s", e.Partition, e.Reason)
}

func (e Restored) String() string {
	return fmt.Sprintf("partition %d: the log agrees with the state in memory again", e.Partition)
}

func (e Failed) String() string { return fmt.Sprintf("partition %d: %v", e.Partition, e.Err) }

func (e Fenced) String() string {
	return fmt.Sprintf("partition %d: taken over by %s", e.Partition, e.By)
}
