// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"errors"
	"fmt"
	"time"
)

// Config holds timeouts and bounds. DefaultConfig has the values of a Kafka broker where Kafka has one.
type Config struct {
	// MinSessionTimeout and MaxSessionTimeout bound what a member may ask for (group.{min,max}.session.timeout.ms).
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// InitialRebalanceDelay is how long the first rebalance of an Empty group waits for more members
	// (group.initial.rebalance.delay.ms, KIP-134). Zero means: not at all.
	InitialRebalanceDelay time.Duration
	// FirstJoinTimeout ends the wait of a member in its first join. Nobody can tell whether the client behind it still
	// lives, and one that lost its connection comes back as another member.
	FirstJoinTimeout time.Duration

	// OffsetsRetention is how long an offset outlives its use: offsets.retention.minutes and KIP-211.
	OffsetsRetention time.Duration
	// CheckInterval is the time between two looks for expired offsets and for groups with nothing left in them.
	CheckInterval time.Duration

	// MaxGroups, MaxMembers and MaxOffsets bound all groups together. Ids given out and not yet claimed count as members.
	MaxGroups, MaxMembers, MaxOffsets int
	// MaxGroupSize bounds the members of one group (group.max.size).
	MaxGroupSize int
	// MaxProtocols, MaxMemberMetadata (bytes, names and metadata of all its protocols) and MaxAssignment (bytes) bound
	// what the group keeps for one member.
	MaxProtocols, MaxMemberMetadata, MaxAssignment int
	// MaxOffsetMetadata bounds the metadata of one offset, in UTF-16 code units as Kafka counts
	// (offset.metadata.max.bytes).
	MaxOffsetMetadata int
}

// DefaultConfig returns the configuration of a broker with nothing set.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout:     6 * time.Second,
		MaxSessionTimeout:     30 * time.Minute,
		InitialRebalanceDelay: 3 * time.Second,
		FirstJoinTimeout:      5 * time.Minute,
		OffsetsRetention:      7 * 24 * time.Hour,
		CheckInterval:         10 * time.Minute,
		MaxGroups:             10_000,
		MaxMembers:            50_000,
		MaxOffsets:            1_000_000,
		MaxGroupSize:          1_000,
		MaxProtocols:          16,
		MaxMemberMetadata:     64 << 10,
		MaxAssignment:         1 << 20,
		MaxOffsetMetadata:     4_096,
	}
}

// Validate returns every fault of the configuration at once, or nil.
func (c *Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("coordinator: config: "+format, args...))
		}
	}
	fault(c.MinSessionTimeout <= 0, "MinSessionTimeout %v is not positive", c.MinSessionTimeout)
	fault(c.MaxSessionTimeout < c.MinSessionTimeout, "MaxSessionTimeout %v is below MinSessionTimeout %v", c.MaxSessionTimeout, c.MinSessionTimeout)
	fault(c.InitialRebalanceDelay < 0, "InitialRebalanceDelay %v is negative", c.InitialRebalanceDelay)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"FirstJoinTimeout", c.FirstJoinTimeout}, {"OffsetsRetention", c.OffsetsRetention}, {"CheckInterval", c.CheckInterval},
	} {
		fault(d.value <= 0, "%s %v is not positive", d.name, d.value)
	}
	for _, n := range []struct {
		name  string
		value int
	}{
		{"MaxGroups", c.MaxGroups}, {"MaxMembers", c.MaxMembers}, {"MaxOffsets", c.MaxOffsets}, {"MaxGroupSize", c.MaxGroupSize},
		{"MaxProtocols", c.MaxProtocols}, {"MaxMemberMetadata", c.MaxMemberMetadata}, {"MaxAssignment", c.MaxAssignment},
		{"MaxOffsetMetadata", c.MaxOffsetMetadata},
	} {
		fault(n.value <= 0, "%s %d is not positive", n.name, n.value)
	}
	return errors.Join(faults...)
}
