// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// IggyName is where a Kafka topic lives in Iggy.
type IggyName struct{ Stream, Topic string }

// Names maps Kafka topic names to Iggy's and back: topic orders is topic orders of the default stream, unless the
// topic map says otherwise. It does not change once made and is safe for concurrent use.
type Names struct {
	defaultStream string
	toIggy        map[string]IggyName
	toKafka       map[IggyName]string
}

// NewNames maps every topic to the stream defaultStream.
func NewNames(defaultStream string) *Names {
	return &Names{defaultStream: defaultStream}
}

// topicMapFile is the TOML of a topic map:
//
//	default_stream = "kafka"
//	[topics."kafka.name"]
//	stream = "iggy-stream"
//	topic = "iggy-topic"
type topicMapFile struct {
	DefaultStream string `toml:"default_stream"`
	Topics        map[string]struct {
		Stream string `toml:"stream"`
		Topic  string `toml:"topic"`
	} `toml:"topics"`
}

// TopicMapError is one fault of a topic map.
type TopicMapError struct{ Reason string }

func (e *TopicMapError) Error() string { return "bridge: topic map: " + e.Reason }

// ParseTopicMap reads a topic map; its default_stream is required. Every fault is reported as a *TopicMapError that names its
// entry, joined: unknown keys, names that are missing or that Kafka or Iggy do not allow, two entries with one target, and a
// target that is also the default place of a topic that is not listed.
func ParseTopicMap(data []byte) (*Names, error) {
	var file topicMapFile
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&file)
	if err != nil {
		return nil, errors.Join(&TopicMapError{err.Error()})
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, &TopicMapError{fmt.Sprintf(format, args...)})
	}
	dotted := map[string]bool{} // first parts of names that lack quotes
	unknown := meta.Undecoded()
	for _, key := range unknown {
		if len(key) > 2 && key[0] == "topics" && meta.Type(key...) == "Hash" {
			dotted[key[1]] = true
			fault("[%s]: a name with dots in it needs quotes: [topics.%q]", key, strings.Join(key[1:], "."))
		}
	}
	for _, key := range unknown {
		if len(key) < 2 || !dotted[key[1]] {
			fault("unknown key %s", key)
		}
	}
	if !meta.IsDefined("default_stream") {
		fault(`default_stream is missing: the stream of the topics that are not listed, default_stream = "kafka" for instance`)
	} else if !iggywire.ValidName(file.DefaultStream) {
		fault("default_stream %q: Iggy wants 1 to 255 bytes of UTF-8", file.DefaultStream)
	}
	n := &Names{defaultStream: file.DefaultStream, toIggy: map[string]IggyName{}, toKafka: map[IggyName]string{}}
	kafkaNames := make([]string, 0, len(file.Topics))
	for name := range file.Topics {
		kafkaNames = append(kafkaNames, name)
	}
	slices.Sort(kafkaNames)
	for _, name := range kafkaNames {
		if dotted[name] {
			continue
		}
		entry := file.Topics[name]
		target := IggyName{Stream: entry.Stream, Topic: entry.Topic}
		if err := ValidateTopicName(name); err != nil {
			fault("topics.%q: %v", name, err)
		}
		for _, half := range []struct{ key, value, of string }{{"stream", target.Stream, "where it lives"}, {"topic", target.Topic, "that it is"}} {
			if !meta.IsDefined("topics", name, half.key) {
				fault("topics.%q has no %s: add %[2]s = \"...\", the Iggy %[2]s %[3]s", name, half.key, half.of)
			} else if !iggywire.ValidName(half.value) {
				fault("topics.%q: %s %q: Iggy wants 1 to 255 bytes of UTF-8", name, half.key, half.value)
			}
		}
		if other, taken := n.toKafka[target]; taken {
			fault("topics.%q and topics.%q both name topic %q of stream %q", other, name, target.Topic, target.Stream)
		}
		n.toIggy[name], n.toKafka[target] = target, name
	}
	if n.defaultStream == "" {
		return nil, errors.Join(faults...)
	}
	for _, name := range kafkaNames {
		target := n.toIggy[name]
		_, listed := n.toIggy[target.Topic]
		if target.Stream == n.defaultStream && !listed && ValidateTopicName(target.Topic) == nil {
			fault("topics.%q: topic %q of the default stream is where the unlisted Kafka topic %q lives", name, target.Topic, target.Topic)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return n, nil
}

// Streams lists every stream that a Kafka topic may live in, the default one first.
func (n *Names) Streams() []string {
	streams := []string{n.defaultStream}
	for _, target := range n.toIggy {
		streams = append(streams, target.Stream)
	}
	slices.Sort(streams[1:])
	rest := slices.DeleteFunc(slices.Compact(streams[1:]), func(s string) bool { return s == n.defaultStream })
	return append(streams[:1], rest...)
}

// ToIggy says where a Kafka topic lives, whether or not it exists.
func (n *Names) ToIggy(kafka string) IggyName {
	if target, listed := n.toIggy[kafka]; listed {
		return target
	}
	return IggyName{Stream: n.defaultStream, Topic: kafka}
}

// ToKafka says which Kafka topic an Iggy topic is. ok is false when it is none: its name is not allowed in Kafka,
// its stream is mapped only in parts, or its Kafka name is mapped elsewhere.
func (n *Names) ToKafka(iggy IggyName) (kafka string, ok bool) {
	if kafka, ok := n.toKafka[iggy]; ok {
		return kafka, true
	}
	if _, elsewhere := n.toIggy[iggy.Topic]; elsewhere || iggy.Stream != n.defaultStream || ValidateTopicName(iggy.Topic) != nil {
		return "", false
	}
	return iggy.Topic, true
}

// TopicNameError says which of Kafka's rules for topic names a name breaks, in the words that a broker answers
// (org.apache.kafka.common.internals.Topic).
type TopicNameError struct{ Reason string }

func (e *TopicNameError) Error() string { return "Topic name is invalid: " + e.Reason }

const (
	maxTopicName = 249
	maxShownName = 1024
)

// ValidateTopicName checks Kafka's rules: 1 to 249 of ASCII letters, digits, '.', '_' and '-', not "." or "..".
// The error is a *TopicNameError.
func ValidateTopicName(name string) error {
	switch {
	case name == "":
		return &TopicNameError{"the empty string is not allowed"}
	case name == "." || name == "..":
		return &TopicNameError{fmt.Sprintf("'%s' is not allowed", name)}
	case len(name) > maxTopicName:
		if len(name) > maxShownName { // an answer has no room for 32 KiB of it
			name = strings.ToValidUTF8(name[:maxShownName], "") + "..."
		}
		return &TopicNameError{fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, maxTopicName)}
	case strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-')
	}):
		return &TopicNameError{
			fmt.Sprintf("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name),
		}
	}
	return nil
}
