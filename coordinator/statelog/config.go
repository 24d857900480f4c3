// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"errors"
	"fmt"
	"time"
)

// Config says what a Log works with. Zero values of the optional fields take the defaults named beside them.
type Config struct {
	// Storage holds the log.
	Storage Storage
	// InstanceID and BootID say who writes: InstanceID is the gateway's number, BootID must differ from start to start.
	InstanceID int32
	BootID     string

	// A checkpoint is written after CheckpointRecords records or as many as it would have entries, whichever is more (10,000);
	// after CheckpointInterval if there were changes (10 min); and at least every CheckpointMaxAge (24 h), so that
	// it never gets as old as the messages that the storage drops: see MinRetention.
	CheckpointRecords                    int
	CheckpointInterval, CheckpointMaxAge time.Duration
	// TailInterval is the time between two looks for other owners (1 s).
	TailInterval time.Duration
	// StorageTimeout bounds each call of the storage (10 s).
	StorageTimeout time.Duration

	// MaxMessage is the largest payload of one message (512 KiB): longer records go out in parts. MaxRecord bounds a record
	// (32 MiB): a group whose members, metadata and assignments together are larger cannot be stored.
	MaxMessage, MaxRecord int
	// MaxBatch is what one append gathers, in bytes, unless a single record is larger (1 MiB), MaxBatchMessages in
	// messages (1,000). MaxQueued bounds what waits for one partition, in bytes (64 MiB).
	MaxBatch, MaxBatchMessages, MaxQueued int
	// ReadMessages is how many messages are asked for at once (1,000).
	ReadMessages int

	// Observe, unless nil, is told what happens, for logs and metrics. It may be called by several goroutines, which wait
	// for it.
	Observe func(Event)
}

const defaultCheckpointMaxAge = 24 * time.Hour

// MinRetention is how long a storage must at least keep messages for a Log with the default CheckpointMaxAge: then the newest
// whole checkpoint is there also if one could not be written in time.
const MinRetention = 2 * defaultCheckpointMaxAge

func (c Config) withDefaults() Config {
	setDefault(&c.CheckpointRecords, 10_000)
	setDefault(&c.CheckpointInterval, 10*time.Minute)
	setDefault(&c.CheckpointMaxAge, defaultCheckpointMaxAge)
	setDefault(&c.TailInterval, time.Second)
	setDefault(&c.StorageTimeout, 10*time.Second)
	setDefault(&c.MaxMessage, 512<<10)
	setDefault(&c.MaxRecord, 32<<20)
	setDefault(&c.MaxBatch, 1<<20)
	setDefault(&c.MaxBatchMessages, 1_000)
	setDefault(&c.MaxQueued, 64<<20)
	setDefault(&c.ReadMessages, 1_000)
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	return c
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// minMessage is what MaxMessage must at least be, so that a part has room for more than its own header.
const minMessage = 256

// Validate returns every fault of the configuration at once, or nil. Fields that are zero have their defaults.
func (c Config) Validate() error {
	c = c.withDefaults()
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("statelog: config: "+format, args...))
		}
	}
	fault(c.Storage == nil, "Storage is not set")
	fault(c.Storage != nil && c.Storage.Partitions() < 1, "Storage has no partitions")
	fault(c.BootID == "", "BootID is not set")
	fault(c.MaxMessage < minMessage, "MaxMessage %d is below %d", c.MaxMessage, minMessage)
	fault(c.MaxRecord < c.MaxMessage, "MaxRecord %d is below MaxMessage %d", c.MaxRecord, c.MaxMessage)
	fault(c.MaxQueued < c.MaxRecord, "MaxQueued %d is below MaxRecord %d", c.MaxQueued, c.MaxRecord)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"CheckpointInterval", c.CheckpointInterval}, {"CheckpointMaxAge", c.CheckpointMaxAge},
		{"TailInterval", c.TailInterval}, {"StorageTimeout", c.StorageTimeout},
	} {
		fault(d.value < 0, "%s %v is negative", d.name, d.value)
	}
	for _, n := range []struct {
		name  string
		value int
	}{
		{"CheckpointRecords", c.CheckpointRecords}, {"MaxBatch", c.MaxBatch},
		{"MaxBatchMessages", c.MaxBatchMessages}, {"ReadMessages", c.ReadMessages},
	} {
		fault(n.value < 0, "%s %d is negative", n.name, n.value)
	}
	return errors.Join(faults...)
}
