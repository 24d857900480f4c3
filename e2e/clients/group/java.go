// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// javaArguments are those of the script java/member.
func javaArguments(c Config) []string {
	assignor := map[string]string{Range: "RangeAssignor", RoundRobin: "RoundRobinAssignor", CooperativeSticky: "CooperativeStickyAssignor"}[c.Assignor]
	args := []string{strconv.Itoa(c.HeartbeatMs), "--verbose", "--bootstrap-server", c.Broker, "--topic", c.Topic, "--group-id", c.Group,
		"--session-timeout", strconv.Itoa(c.SessionTimeoutMs), "--assignment-strategy", "org.apache.kafka.clients.consumer." + assignor}
	if c.Instance != "" {
		args = append(args, "--group-instance-id", c.Instance)
	}
	return args
}

// parseJava reads a line of VerifiableConsumer; an event without a kind is none.
func parseJava(line []byte) (Event, error) {
	var v struct {
		Name       string
		Partitions []struct{ Partition int }
		Partition  int
		Offset     int64
		Value      string
		Offsets    []struct {
			Partition int
			Offset    int64
		}
		Success bool
		Error   string
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return Event{}, fmt.Errorf("group: %w in %q", err, line)
	}
	switch v.Name {
	case "startup_complete":
		return Event{Kind: Started}, nil
	case "partitions_assigned", "partitions_revoked":
		e := Event{Kind: Assigned}
		if v.Name == "partitions_revoked" {
			e.Kind = Revoked
		}
		for _, p := range v.Partitions {
			e.Partitions = append(e.Partitions, p.Partition)
		}
		return e, nil
	case "record_data":
		return Event{Kind: Record, Partition: v.Partition, Offset: v.Offset, Value: v.Value}, nil
	case "offsets_committed":
		if !v.Success {
			return Event{Kind: Failed, Error: v.Error}, nil
		}
		e := Event{Kind: Committed, Offsets: map[int]int64{}}
		for _, o := range v.Offsets {
			e.Offsets[o.Partition] = o.Offset
		}
		return e, nil
	case "records_consumed": // a summary of record_data
		return Event{}, nil
	case "shutdown_complete":
		return Event{Kind: Closed}, nil
	default:
		return Event{}, fmt.Errorf("group: unknown event in %q", line)
	}
}
