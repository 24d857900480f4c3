// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeLogDirs (35), v1-4: how large partitions are.
//
// v2: flexible. v3: a top-level error code. v4: the size of the volume and what is free of it (KIP-827), which Iggy does not tell.
//
// There is one directory, Iggy. Sizes are Iggy's, of its messages; they have no second copies and no followers that lag.

const (
	logDir            = "iggy"
	logDirsTimeout    = 10 * time.Second
	unknownVolume     = -1
	kafkaStorageError = int16(56)
)

func (a *API) describeLogDirs(ctx context.Context, conn *server.Conn, req *kmsg.DescribeLogDirsRequest) (server.Reply, error) {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	resp.Version = req.Version
	if no := a.mayReadServers(ctx, conn); no != nil {
		resp.ErrorCode = no.code
		return server.NewReply(resp), nil
	}
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.TotalBytes, dir.UsableBytes = logDir, unknownVolume, unknownVolume
	resp.Dirs = append(resp.Dirs, dir)
	size := 0
	if a.Bridge != nil {
		size = a.fillLogDir(ctx, conn, req, &resp.Dirs[0])
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NewReservedReply(resp, release), nil
}

// fillLogDir lists the partitions that are asked for, and returns what they take in the answer, in bytes. What is not there, or
// not for the client to see, is left out; if Iggy does not say, the directory is offline.
func (a *API) fillLogDir(ctx context.Context, conn *server.Conn, req *kmsg.DescribeLogDirsRequest, dir *kmsg.DescribeLogDirsResponseDir) (size int) {
	const topicBytes, partitionBytes = 48, 48
	ctx, cancel := context.WithTimeout(ctx, logDirsTimeout)
	defer cancel()
	wanted, err := a.logDirPartitions(ctx, conn, req)
	if err == nil {
		bounds := a.boundsOf(ctx, conn, permissions.Describe, maps.Keys(wanted))
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			t := bounds[name]
			if t.err != nil && !bridge.IsNotFound(t.err) && !errors.Is(t.err, errNotAllowed) {
				err = t.err
				break
			}
			out := kmsg.NewDescribeLogDirsResponseDirTopic()
			out.Topic, out.Partitions = name, wanted[name].sizes(t.partitions)
			if len(out.Partitions) > 0 {
				dir.Topics = append(dir.Topics, out)
				size += topicBytes + len(name) + partitionBytes*len(out.Partitions)
			}
		}
	}
	if err != nil {
		a.logFailure("sizes of partitions are not known", err)
		dir.ErrorCode, dir.Topics = kafkaStorageError, nil
	}
	return size
}

// partitionSet are partitions of one topic; nil are all.
type partitionSet map[int32]struct{}

// logDirPartitions is what a request asks for, by topic: null asks for everything.
func (a *API) logDirPartitions(ctx context.Context, conn *server.Conn, req *kmsg.DescribeLogDirsRequest) (map[string]partitionSet, error) {
	wanted := map[string]partitionSet{}
	if req.Topics == nil {
		see, err := a.topics(ctx, conn)
		if err != nil {
			return nil, err
		}
		for _, t := range see.all(permissions.Describe) {
			wanted[t.Name] = nil
		}
		return wanted, nil
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if wanted[t.Topic] == nil {
			wanted[t.Topic] = make(partitionSet, len(t.Partitions))
		}
		for _, p := range t.Partitions {
			wanted[t.Topic][p] = struct{}{}
		}
	}
	return wanted, nil
}

// sizes are those of the partitions that are in the set and in the topic.
func (s partitionSet) sizes(topic []bridge.Bounds) (out []kmsg.DescribeLogDirsResponseDirTopicPartition) {
	for i := range topic {
		if _, wanted := s[int32(i)]; wanted || s == nil {
			p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			p.Partition, p.Size = int32(i), topic[i].Bytes
			out = append(out, p)
		}
	}
	return out
}
