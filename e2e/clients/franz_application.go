// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func (f Franz) About() About { return aboutGo(f, "github.com/twmb/franz-go") }

func (f Franz) ConsumeGroup(ctx context.Context, topic, group string, n int) (map[int][]Record, error) {
	cl, err := f.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	records := map[int][]Record{}
	var read []*kgo.Record
	for len(read) < n {
		fetches := cl.PollRecords(ctx, n-len(read))
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(read), n, err)
		}
		read = append(read, fetches.Records()...)
	}
	for _, r := range read {
		records[int(r.Partition)] = append(records[int(r.Partition)], franzRecord(r))
	}
	return records, cl.CommitRecords(ctx, read...)
}

// administer runs an administrator's call.
func (f Franz) administer(call func(*kadm.Client) error) error {
	cl, err := f.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	return call(kadm.NewClient(cl))
}

func (f Franz) OffsetAt(ctx context.Context, topic string, partition int, ms int64) (offset int64, err error) {
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.ListOffsetsAfterMilli(ctx, ms, topic)
		o, _ := found.Lookup(topic, int32(partition))
		offset = o.Offset
		return errors.Join(err, found.Error())
	})
	return offset, err
}

func (f Franz) Topics(ctx context.Context) (names []string, err error) {
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.ListTopics(ctx)
		names = found.Names()
		return err
	})
	return names, err
}

func (f Franz) Partitions(ctx context.Context, topic string) (n int, err error) {
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.ListTopics(ctx, topic)
		n = len(found[topic].Partitions)
		return errors.Join(err, found.Error())
	})
	return n, err
}

func (f Franz) Groups(ctx context.Context) (ids []string, err error) {
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.ListGroups(ctx)
		ids = found.Groups()
		return err
	})
	return ids, err
}

func (f Franz) GroupState(ctx context.Context, group string) (state string, err error) {
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.DescribeGroups(ctx, group)
		state = found[group].State
		return errors.Join(err, found.Error())
	})
	return state, err
}

func (f Franz) DeleteRecords(ctx context.Context, topic string, partition int, before int64) error {
	return f.administer(func(admin *kadm.Client) error {
		var offsets kadm.Offsets
		offsets.Add(kadm.Offset{Topic: topic, Partition: int32(partition), At: before})
		done, err := admin.DeleteRecords(ctx, offsets)
		return errors.Join(err, done.Error())
	})
}

func (f Franz) DeleteGroup(ctx context.Context, group string) error {
	return f.administer(func(admin *kadm.Client) error {
		_, err := admin.DeleteGroup(ctx, group)
		return err
	})
}
