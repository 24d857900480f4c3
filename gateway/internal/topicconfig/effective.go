// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// The settings that have an effect here, beside those that Iggy holds itself.
const (
	CleanupPolicy      = "cleanup.policy"
	CompressionType    = "compression.type"
	MaxMessageBytes    = "max.message.bytes"
	TimestampType      = "message.timestamp.type"
	TimestampAfterMax  = "message.timestamp.after.max.ms"
	TimestampBeforeMax = "message.timestamp.before.max.ms"
)

// The values of those that are words, as far as they mean something here.
const (
	compact       = "compact"
	deletes       = "delete"
	logAppendTime = "LogAppendTime"
	uncompressed  = "uncompressed"
	producer      = "producer"
)

const (
	defaultTimestampAfterMax  = 3_600_000
	defaultTimestampBeforeMax = math.MaxInt64
)

// Effective is what a topic's settings come to on the data path.
type Effective struct {
	// MaxMessageBytes is the largest batch, as sent, that the topic takes.
	MaxMessageBytes int
	// LogAppendTime: records carry the time at which Iggy took them in, not the producer's.
	LogAppendTime bool
	// TimestampBeforeMax and TimestampAfterMax are how far (ms) a record's timestamp may lie in the past and in the future.
	TimestampBeforeMax, TimestampAfterMax int64
	// Compact and Delete are what the cleanup policy holds. Nothing is compacted, but records must have keys for it.
	Compact, Delete bool

	codec    recordcodec.Codec
	ownCodec bool
}

// Default is what a topic without settings of its own has.
func Default() Effective {
	return Effective{
		MaxMessageBytes:    DefaultMaxMessageBytes,
		TimestampBeforeMax: defaultTimestampBeforeMax,
		TimestampAfterMax:  defaultTimestampAfterMax,
		Delete:             true,
	}
}

// NewEffective reads settings that Validate has let pass. What it cannot read, which only another release can have kept,
// counts as not set.
func NewEffective(settings map[string]string) Effective {
	e := Default()
	setInt(settings, MaxMessageBytes, &e.MaxMessageBytes)
	setInt(settings, TimestampBeforeMax, &e.TimestampBeforeMax)
	setInt(settings, TimestampAfterMax, &e.TimestampAfterMax)
	e.LogAppendTime = strings.TrimSpace(settings[TimestampType]) == logAppendTime
	if policy, ok := settings[CleanupPolicy]; ok {
		members := splitList(policy)
		e.Compact, e.Delete = slices.Contains(members, compact), slices.Contains(members, deletes)
	}
	switch word := strings.TrimSpace(settings[CompressionType]); word {
	case "", producer:
	case uncompressed:
		e.ownCodec = true
	default:
		codec, err := recordcodec.ParseCodec(word)
		e.codec, e.ownCodec = codec, err == nil
	}
	return e
}

func setInt[T int | int64](settings map[string]string, name string, to *T) {
	if n, err := strconv.ParseInt(strings.TrimSpace(settings[name]), 10, 64); err == nil {
		*to = T(n)
	}
}

// Codec is how consumers get the topic's batches compressed: as its compression.type says, or else, for "producer", as
// the gateway's own setting does, since Iggy does not remember what the producer did.
func (e *Effective) Codec(otherwise recordcodec.Codec) recordcodec.Codec {
	if e.ownCodec {
		return e.codec
	}
	return otherwise
}
