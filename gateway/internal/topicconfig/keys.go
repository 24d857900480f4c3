// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"math"
	"strconv"
)

// Key is one topic setting.
type Key struct {
	Name    string
	Type    Type
	Default string
	// Broker is the setting that gives a broker's topics this default, "" if there is none
	// (org.apache.kafka.server.config.ServerTopicConfigSynonyms).
	Broker string
	// Doc says what the setting is for in Kafka, in a sentence.
	Doc string
	// Effect is what the setting does here; "" for one that is only kept to be read back.
	Effect string

	min, max float64  // of numbers, inclusive
	or       string   // a number that is allowed besides
	words    []string // allowed values, or members of a list; nil = any
	replicas bool     // a list of partition:broker
}

// Keys lists every topic setting of Kafka 4.1, in the order in which a broker checks them. The defaults are Kafka's, but for
// retention.ms: how long Iggy keeps messages without being told is its own setting, and by default for ever.
func Keys() []Key {
	return []Key{
		ranged("segment.bytes", Int, "1073741824", 1<<20, math.MaxInt32).from("log.segment.bytes").
			doc("Size of a segment file of the log, in bytes."),
		atLeast("segment.ms", Long, "604800000", 1).
			doc("Age at which a segment is closed even if it is not full, in ms."),
		atLeast("segment.jitter.ms", Long, "0", 0).
			doc("Most that is randomly taken off segment.ms, so that segments are not all closed at once, in ms."),
		atLeast("segment.index.bytes", Int, "10485760", 4).from("log.index.size.max.bytes").
			doc("Size of an offset index, in bytes."),
		atLeast("flush.messages", Long, forever, 1).from("log.flush.interval.messages").
			doc("Number of messages after which the log is synced to disk."),
		atLeast("flush.ms", Long, forever, 0).
			doc("Time after which the log is synced to disk, in ms."),
		atLeast(RetentionBytes, Long, "-1", math.Inf(-1)).from("log.retention.bytes").
			doc("Size up to which each partition is kept, in bytes; -1 is no limit.").
			effect("Times the number of partitions it is the Iggy topic's maximum size, one segment (1 GiB) at least. Iggy deletes whole segments, and only where its cleaner is switched on."),
		atLeast(RetentionMs, Long, "-1", -1).
			doc("Time for which messages are kept, in ms; -1 is no limit.").
			effect("It is the Iggy topic's message expiry; -1, also where nothing is set, is none. Iggy deletes whole segments, and only where its cleaner is switched on."),
		atLeast(MaxMessageBytes, Int, strconv.Itoa(DefaultMaxMessageBytes), 0).from("message.max.bytes").
			doc("Largest batch that the topic takes, as sent, in bytes.").
			effect("As in Kafka."),
		atLeast("index.interval.bytes", Int, "4096", 0).from("log.index.interval.bytes").
			doc("Bytes of messages between two entries of the offset index."),
		atLeast("delete.retention.ms", Long, "86400000", 0).from("log.cleaner.delete.retention.ms").
			doc("Time for which compaction keeps delete markers, in ms."),
		atLeast(minCompactionLag, Long, "0", 0).from("log.cleaner.min.compaction.lag.ms").
			doc("Time for which a message stays uncompacted at least, in ms."),
		atLeast(maxCompactionLag, Long, forever, 1).from("log.cleaner.max.compaction.lag.ms").
			doc("Time for which a message stays uncompacted at most, in ms."),
		atLeast("file.delete.delay.ms", Long, "60000", 0).from("log.segment.delete.delay.ms").
			doc("Time between the removal of a segment from the log and that of its file, in ms."),
		ranged("min.cleanable.dirty.ratio", Double, "0.5", 0, 1).from("log.cleaner.min.cleanable.ratio").
			doc("Part of the log that must be uncompacted before compaction begins."),
		word(CleanupPolicy, List, deletes, compact, deletes).from("log.cleanup.policy").
			doc("What is done with old messages: delete, compact or both.").
			effect("`compact` asks for keys and compacts nothing. Without `delete` nothing expires, whatever the retention, and DeleteRecords is refused."),
		flag("unclean.leader.election.enable").from("unclean.leader.election.enable").
			doc("Whether a replica that may lack messages can become leader."),
		atLeast("min.insync.replicas", Int, "1", 1).from("min.insync.replicas").
			doc("Replicas that must have a write of acks=all before it is acknowledged."),
		word(CompressionType, String, producer, uncompressed, "zstd", "lz4", "snappy", "gzip", producer).from("compression.type").
			doc("Compression of the topic's batches; producer leaves them as they were sent.").
			effect("It is how consumers are sent batches, as Iggy keeps messages and not batches; `producer` is as the gateway's own setting says."),
		ranged("compression.gzip.level", Int, "-1", 1, 9).orElse("-1").from("compression.gzip.level").doc("Level of gzip, where the topic's compression is that."),
		ranged("compression.lz4.level", Int, "9", 1, 17).from("compression.lz4.level").doc("Level of lz4, where the topic's compression is that."),
		ranged("compression.zstd.level", Int, "3", -131072, 22).from("compression.zstd.level").doc("Level of zstd, where the topic's compression is that."),
		flag("preallocate").from("log.preallocate").
			doc("Whether a new segment's file takes its whole size at once."),
		word(TimestampType, String, "CreateTime", "CreateTime", logAppendTime).from("log.message.timestamp.type").
			doc("Whose time a message has: the producer's (CreateTime) or the log's (LogAppendTime).").
			effect("LogAppendTime is the time at which Iggy took the message in."),
		atLeast(TimestampBeforeMax, Long, forever, 0).from("log.message.timestamp.before.max.ms").
			doc("How far a message's timestamp may lie in the past, in ms.").
			effect("As in Kafka."),
		atLeast(TimestampAfterMax, Long, strconv.Itoa(defaultTimestampAfterMax), 0).from("log.message.timestamp.after.max.ms").
			doc("How far a message's timestamp may lie in the future, in ms.").
			effect("As in Kafka."),
		throttled("leader.replication.throttled.replicas").doc("Replicas whose leaders send no faster than the broker's quota."),
		throttled("follower.replication.throttled.replicas").doc("Replicas that fetch no faster than the broker's quota."),
		flag(remoteStorage).doc("Whether old segments go to tiered storage."),
		atLeast("local.retention.ms", Long, "-2", -2).from("log.local.retention.ms").
			doc("Time for which a segment in tiered storage also stays on the broker, in ms; -2 is retention.ms."),
		atLeast("local.retention.bytes", Long, "-2", -2).from("log.local.retention.bytes").
			doc("Size up to which segments in tiered storage also stay on the broker, in bytes; -2 is retention.bytes."),
		flag("remote.log.copy.disable").doc("Whether no more segments are copied to tiered storage."),
		flag("remote.log.delete.on.disable").doc("Whether segments in tiered storage go when that is switched off."),
	}
}

const forever = "9223372036854775807"

func atLeast(name string, t Type, def string, least float64) Key {
	return ranged(name, t, def, least, math.MaxFloat64)
}

func ranged(name string, t Type, def string, least, most float64) Key {
	return Key{Name: name, Type: t, Default: def, min: least, max: most}
}

func word(name string, t Type, def string, words ...string) Key {
	return Key{Name: name, Type: t, Default: def, words: words}
}

func flag(name string) Key { return Key{Name: name, Type: Boolean, Default: "false"} }

func throttled(name string) Key { return Key{Name: name, Type: List, replicas: true} }

func (k Key) orElse(number string) Key {
	k.or = number
	return k
}

func (k Key) from(broker string) Key {
	k.Broker = broker
	return k
}

func (k Key) doc(text string) Key {
	k.Doc = text
	return k
}

func (k Key) effect(text string) Key {
	k.Effect = text
	return k
}
