// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// groupTimeout bounds what waits for the group state to be durable, as a broker's offsets.commit.timeout.ms does: commits,
// removals, and the assignment that a leader brings.
const groupTimeout = 5 * time.Second

// parked is the context of a request that waits for other members, or for its turn. What it waits for ends the wait; so does the
// gateway's stop, as a drain should not wait for clients that do not come.
func (a *API) parked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(a.Stopping, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// fenced says whether another gateway has taken over the groups.
func (a *API) fenced() bool {
	select {
	case <-a.Fenced:
		return true
	default:
		return false
	}
}

// ownsState says whether what is to be remembered can be: the state is loaded, and no other gateway has taken it over.
func (a *API) ownsState() bool {
	select {
	case <-a.Groups.Loaded():
		return !a.fenced()
	default:
		return false
	}
}

// stateWait is how long a request waits for the state that answers it: clients do not expect to have to try again.
const stateWait = 5 * time.Second

// awaitState waits for the state and says whether it is loaded.
func (a *API) awaitState(ctx context.Context) bool {
	ctx, end := a.parked(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	select {
	case <-a.Groups.Loaded():
		return true
	case <-ctx.Done():
		return false
	}
}

// groupTopics is topicsNamed for a request about groups. Without Iggy there are no topics.
func (a *API) groupTopics(ctx context.Context, conn *server.Conn, refs []topicRef) (sight, error) {
	if a.Bridge == nil {
		return sight{new(bridge.TopicView), a.everything}, nil
	}
	return a.topicsNamed(ctx, conn, refs)
}

// mayUseGroups says why a client may not be told of groups, or be in one; none if it may.
func (a *API) mayUseGroups(ctx context.Context, conn *server.Conn) int16 {
	access, err := a.access(ctx, conn)
	if err == nil && access.MayUseGroups() {
		return none
	}
	return a.refusedGroup(err)
}

// mayNoLongerUseGroups is asked when a client has waited for others, and has its answer: it stands if Iggy cannot be asked now.
func (a *API) mayNoLongerUseGroups(ctx context.Context, conn *server.Conn) bool {
	access, err := a.access(ctx, conn)
	return err == nil && !access.MayUseGroups()
}

// refusedGroup is the code for who may not do something with a group; err is why that is not known.
func (a *API) refusedGroup(err error) int16 {
	if err != nil {
		return a.code(opGroups, err, false)
	}
	return groupAuthorizationFailed
}

// mayDeleteGroups: groups belong to no topic, but are kept in the default stream. Who manages the topics there can delete them
// all at once anyway.
func (a *API) mayDeleteGroups(access *permissions.Access) bool {
	if a.Bridge != nil {
		if stream, ok := a.Bridge.DefaultStream(); ok {
			return access.MayManageTopics(stream)
		}
	}
	return access.RightsEverywhere().Any(permissions.Manage)
}

// partitionKnown says whether a topic has a partition of that number.
func partitionKnown(t *bridge.Topic, partition int32) bool {
	return t != nil && partition >= 0 && partition < t.Partitions
}

// groupPartition is what the coordinator keeps an offset under: the topic's name as clients say it, which is also the one
// that a topic view has.
func groupPartition(topic string, partition int32) coordinator.TopicPartition {
	return coordinator.TopicPartition{Topic: topic, Partition: partition}
}

// reserveAnswer is reserve for an answer that has to be whole: one above the largest closes the connection.
func (a *API) reserveAnswer(ctx context.Context, size int) (release func(), err error) {
	if size > a.MaxResponseSize {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errAnswerTooLarge, size, a.MaxResponseSize)
	}
	return a.reserve(ctx, int64(size))
}

// clientHost is a client's address as Kafka's tools show it: Java's form of an address without a name.
func clientHost(conn *server.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		host = conn.RemoteAddr().String()
	}
	return "/" + host
}

// text is a nullable string of a request; null reads as empty.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// nullable is a nullable string of an answer; empty becomes null.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
