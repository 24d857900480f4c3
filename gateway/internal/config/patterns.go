// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// TopicPatterns is a set of topics by name, and by the beginning of the name. The zero value is the empty set.
type TopicPatterns struct {
	Names, Prefixes []string
}

// parsePatterns reads names between commas; blanks around them do not count. One that ends in * stands for all names that
// begin so. The error names the first entry that no topic could match.
func parsePatterns(text string) (TopicPatterns, error) {
	var p TopicPatterns
	if strings.TrimSpace(text) == "" {
		return p, nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.TrimSpace(entry)
		prefix, isPrefix := strings.CutSuffix(entry, "*")
		name := entry
		if isPrefix {
			name = prefix + "x" // the shortest that the entry is meant for
		}
		switch {
		case entry == "":
			return TopicPatterns{}, fmt.Errorf("entry %q: an empty name", entry)
		case strings.Contains(prefix, "*"):
			return TopicPatterns{}, fmt.Errorf("entry %q: only the last character may be *", entry)
		}
		if err := bridge.ValidateTopicName(name); err != nil {
			return TopicPatterns{}, fmt.Errorf("entry %q: no topic can be named so: %w", entry, err)
		}
		if isPrefix {
			p.Prefixes = append(p.Prefixes, prefix)
		} else {
			p.Names = append(p.Names, entry)
		}
	}
	return p, nil
}

// match tells whether a topic is in the set.
func (p *TopicPatterns) match(topic string) bool {
	return slices.Contains(p.Names, topic) ||
		slices.ContainsFunc(p.Prefixes, func(prefix string) bool { return strings.HasPrefix(topic, prefix) })
}

// Matcher returns a function that tells whether a topic is in the set, nil for the empty one.
func (p *TopicPatterns) Matcher() func(topic string) bool {
	if len(p.Names)+len(p.Prefixes) == 0 {
		return nil
	}
	return p.match
}
