// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminScripts are about the cluster as its administrators see it.
func adminScripts() []script {
	return []script{
		{key: kmsg.DescribeLogDirs.Int16(), run: (*parity).describeLogDirs, asked: always(nil)},
		{
			key: kmsg.ElectLeaders.Int16(), run: (*parity).electLeaders,
			asked: slices.Concat(always(kerr.ElectionNotNeeded, kerr.UnknownTopicOrPartition), since(1, nil, kerr.InvalidRequest)),
		},
		{key: kmsg.ListPartitionReassignments.Int16(), run: (*parity).listPartitionReassignments, asked: always(nil)},
		{key: kmsg.DescribeUserSCRAMCredentials.Int16(), run: (*parity).describeUserScramCredentials, asked: always(nil, kerr.ResourceNotFound, kerr.DuplicateResource)},
		{key: kmsg.DescribeTransactions.Int16(), run: (*parity).describeTransactions, asked: always(kerr.TransactionalIDNotFound, kerr.InvalidRequest)},
		{key: kmsg.ListTransactions.Int16(), run: (*parity).listTransactions, asked: slices.Concat(always(nil), since(2, kerr.InvalidRegularExpression))},
		{
			key: kmsg.DescribeTopicPartitions.Int16(), run: (*parity).describeTopicPartitions,
			asked: always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidTopicException, kerr.InvalidRequest),
		},
	}
}

// describeLogDirs leaves out where the directory is and how large its volume, and tells of sizes whether there are any.
func (p *parity) describeLogDirs() {
	ask := func(step string, topics ...kmsg.DescribeLogDirsRequestTopic) {
		p.t.Helper()
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version, req.Topics = p.version, topics
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.DescribeLogDirsResponse); ok {
			for i := range answer.Dirs {
				dir := &answer.Dirs[i]
				dir.Dir, dir.TotalBytes, dir.UsableBytes = "DIRECTORY", -1, -1
				dir.Topics = slices.DeleteFunc(dir.Topics, func(t kmsg.DescribeLogDirsResponseDirTopic) bool { return t.Topic != p.topic.name })
				for j := range dir.Topics {
					for k := range dir.Topics[j].Partitions {
						size := &dir.Topics[j].Partitions[k].Size
						*size = min(*size, 1)
					}
				}
			}
		}
		p.note(step, req, resp, err)
	}
	of := func(name string, partitions ...int32) kmsg.DescribeLogDirsRequestTopic {
		return kmsg.DescribeLogDirsRequestTopic{Topic: name, Partitions: partitions}
	}
	if p.first {
		ask("nothing was written", of(p.topic.name, 0, 1))
		p.quietly(produceRequest(9, p.topic, 0, one("a")))
	}
	ask("everything")
	ask("nothing", []kmsg.DescribeLogDirsRequestTopic{}...)
	ask("a partition", of(p.topic.name, 0))
	ask("one that is not there, a topic that is not there, one twice, none",
		of(p.topic.name, 0, 9), of(p.missing.name, 0), of(p.topic.name, 0, 1), of("a b", 0), of("", 0))
	ask("no partition of a topic", of(p.topic.name))
}

func (p *parity) electLeaders() {
	ask := func(step string, election int8, topics []kmsg.ElectLeadersRequestTopic) {
		p.t.Helper()
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.ElectionType, req.TimeoutMillis, req.Topics = p.version, election, 10_000, topics
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.ElectLeadersResponse); ok && topics == nil {
			answer.Topics = slices.DeleteFunc(answer.Topics, func(t kmsg.ElectLeadersResponseTopic) bool { return t.Topic != p.topic.name })
		}
		p.note(step, req, resp, err)
	}
	named := []kmsg.ElectLeadersRequestTopic{
		{Topic: p.topic.name, Partitions: []int32{0, 9, 0, -1}}, {Topic: p.missing.name, Partitions: []int32{0}},
		{Topic: p.topic.name, Partitions: []int32{1}}, {Topic: "a b", Partitions: []int32{0}}, {Topic: p.topic.name},
	}
	for election := range int8(3) {
		ask(fmt.Sprintf("some, type %d", election), election, named)
	}
	ask("some, type -1", -1, named)
	ask("none", 0, []kmsg.ElectLeadersRequestTopic{})
	ask("all", 0, nil)
	ask("all, unclean", 1, nil)
}

func (p *parity) listPartitionReassignments() {
	ask := func(step string, topics []kmsg.ListPartitionReassignmentsRequestTopic) {
		p.t.Helper()
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis, req.Topics = 10_000, topics
		p.step(step, req)
	}
	ask("all", nil)
	ask("none", []kmsg.ListPartitionReassignmentsRequestTopic{})
	ask("some", []kmsg.ListPartitionReassignmentsRequestTopic{
		{Topic: p.topic.name, Partitions: []int32{0, 9}}, {Topic: p.missing.name, Partitions: []int32{0}}, {Topic: "a b", Partitions: []int32{0}},
	})
}

func (p *parity) describeUserScramCredentials() {
	ask := func(step string, users ...string) {
		p.t.Helper()
		req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		for _, user := range users {
			req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: user})
		}
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.DescribeUserSCRAMCredentialsResponse); ok && len(users) == 0 {
			answer.Results = nil // a broker that others use may have some
		}
		p.note(step, req, resp, err)
	}
	ask("all")
	ask("one", "a")
	ask("some", "a", "b", "")
	ask("one twice, another three times, one once", "a", "b", "a", "b", "c", "b")
}

func (p *parity) describeTransactions() {
	ask := func(step string, ids ...string) {
		p.t.Helper()
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = ids
		p.step(step, req)
	}
	ask("none")
	ask("one", p.group("id"))
	ask("some, one twice, one without a name", p.group("one"), "", p.group("two"), "")
}

func (p *parity) listTransactions() {
	ask := func(step string, change func(*kmsg.ListTransactionsRequest)) {
		p.t.Helper()
		req := kmsg.NewPtrListTransactionsRequest()
		req.Version = p.version
		change(req)
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.ListTransactionsResponse); ok {
			answer.TransactionStates = nil // a broker that others use may have some
			slices.Sort(answer.UnknownStateFilters)
		}
		p.note(step, req, resp, err)
	}
	ask("all", func(*kmsg.ListTransactionsRequest) {})
	ask("by state", func(req *kmsg.ListTransactionsRequest) {
		req.StateFilters = []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
	})
	ask("by states that there are not", func(req *kmsg.ListTransactionsRequest) {
		req.StateFilters = []string{"ongoing", "Nonsense", "", "Nonsense", "Ongoing"}
	})
	ask("by producer and duration", func(req *kmsg.ListTransactionsRequest) {
		req.ProducerIDFilters, req.DurationFilterMillis = []int64{math.MaxInt64}, 1000
	})
	if p.version < 2 {
		return
	}
	for _, pattern := range []string{"", "no-such-id.*", "[", "(?=x)"} {
		ask(fmt.Sprintf("by the pattern %q", pattern), func(req *kmsg.ListTransactionsRequest) { req.TransactionalIDPattern = &pattern })
	}
}

func (p *parity) describeTopicPartitions() {
	other := p.create("topic2", 2)
	ask := func(step string, limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, topics []string, accepted ...difference) {
		p.t.Helper()
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit, req.Cursor = limit, cursor
		for _, topic := range topics {
			req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: topic})
		}
		p.step(step, req, accepted...)
	}
	at := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
		return &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topic, Partition: partition}
	}
	// Names end at random. They are written by their order, which is what this is about.
	both := []topicRef{p.topic, other}
	slices.SortFunc(both, func(a, b topicRef) int { return strings.Compare(a.name, b.name) })
	p.alias(both[0], "first")
	p.alias(both[1], "second")
	first, second := both[0].name, both[1].name
	asked := []string{second, first}
	ask("two", 2000, nil, asked)
	ask("one twice, and one that is not there", 2000, nil, []string{p.missing.name, first, p.missing.name, first})
	ask("bad names", 2000, nil, []string{"a b", ".", p.long(250)})
	ask("no name", 2000, nil, []string{""},
		difference{`ErrorCode=-1 Topic="" IsInternal=false`, `ErrorCode=17 Topic="" IsInternal=false AuthorizedOperations=3576`, "it says what is wrong"})
	for _, limit := range []int32{1, 2, 3, 4, 0, -1, math.MaxInt32} {
		ask(fmt.Sprintf("a limit of %d", limit), limit, nil, asked)
	}
	for _, cursor := range []*kmsg.DescribeTopicPartitionsRequestCursor{
		at(first, 0), at(first, 1), at(first, 2), at(first, 9), at(second, 0), at(second, 1), at(second, 2), at(first, -1), at(p.missing.name, 0), at("", 0),
	} {
		name := map[string]string{first: "first", second: "second", "": "no name", p.missing.name: "one that is not asked for"}[cursor.Topic]
		ask(fmt.Sprintf("from %s, %d", name, cursor.Partition), 2, cursor, asked)
	}
	ask("from one that is not there", 1, at(p.missing.name, 3), []string{p.missing.name})
	ask("from a bad name", 1, at("a b", 0), []string{"a b"})
	ask("all, from one", 1, at(first, 0), nil)
}
