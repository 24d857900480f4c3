// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// commit stores offsets. Each line of input is "topic/partition offset [epoch=n] [topic-id=id] [metadata=text]"; the
// text may be quoted as in Go, and long:n is n two-byte characters. A client that never joined commits as nobody.
//
//	commit A [member=id] [instance=id] [generation=n] [retention=1h] [group=g]
func (e *Env) commit(t *testing.T, d *datadriven.TestData) error {
	c := e.client(d)
	generation := int(c.generation)
	if c.memberID == "" {
		generation = -1
	}
	commit := coordinator.Commit{
		Request:    e.request(d),
		MemberID:   text(t, d, "member", c.memberID),
		InstanceID: text(t, d, "instance", c.joined.InstanceID),
		Generation: int32(number(t, d, "generation", generation)),
		Retention:  duration(t, d, "retention", 0),
	}
	for _, words := range lines(d) {
		o, err := parseOffset(words)
		if err != nil {
			return err
		}
		commit.Offsets = append(commit.Offsets, o)
	}
	e.step(group(t, d), commit)
	return nil
}

func parseOffset(words []string) (coordinator.OffsetCommit, error) {
	if len(words) < 2 {
		return coordinator.OffsetCommit{}, fmt.Errorf("%q is not \"topic/partition offset\"", words)
	}
	o := coordinator.OffsetCommit{LeaderEpoch: -1}
	var err error
	if o.TopicPartition, err = partition(words[0]); err != nil {
		return o, err
	}
	if o.Offset, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return o, err
	}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "epoch":
			epoch, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return o, err
			}
			o.LeaderEpoch = int32(epoch)
		case "topic-id":
			o.TopicID = value
		case "metadata":
			if o.Metadata, err = metadata(value); err != nil {
				return o, err
			}
		default:
			return o, fmt.Errorf("no such argument: %s", key)
		}
	}
	return o, nil
}

func metadata(value string) (string, error) {
	if n, ok := strings.CutPrefix(value, "long:"); ok {
		count, err := strconv.Atoi(n)
		return strings.Repeat("é", count), err
	}
	if strings.HasPrefix(value, `"`) {
		return strconv.Unquote(value)
	}
	return value, nil
}
