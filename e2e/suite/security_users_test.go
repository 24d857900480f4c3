// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"slices"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// testNarrowUsers: one permission of Iggy's is enough for the clients that need no more, as they are by default, and for
// nothing else.
func testNarrowUsers(t *testing.T, login *secured) {
	const password = "of one use"
	as := func(user string) clients.Franz {
		return clients.Franz{Addr: login.Kafka, Security: clients.Security{User: user, Password: password}}
	}
	for user, may := range map[string]iggcon.GlobalPermissions{
		"writer": {SendMessages: true}, "reader": {PollMessages: true}, "guest": {},
	} {
		addUser(t, login.Target, user, password, may)
	}
	topic := topicName(t)
	app := clients.Franz{Addr: login.Kafka, Security: clients.Security{User: appUser, Password: appPassword}}
	if err := app.CreateTopic(within(t, limit), topic, 1); err != nil {
		t.Fatal(err)
	}
	records := plainRecords(10)
	to := clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll, Idempotent: true}
	simple := to
	simple.Idempotent = false
	produce(t, as("writer"), to, records, 0)
	read, err := as("reader").ConsumeGroup(within(t, limit), topic, topic, len(records))
	if err != nil || len(read[0]) != len(records) {
		t.Errorf("the reader reads %d records, %v", len(read[0]), err)
	}

	for _, test := range []struct {
		what string
		err  error
		want error
	}{
		{"the reader writes", second(as("reader").Produce(within(t, limit), simple, records)), kerr.TopicAuthorizationFailed},
		{"the reader writes idempotently", second(as("reader").Produce(within(t, limit), to, records)), kerr.ClusterAuthorizationFailed},
		{"the writer reads", second(as("writer").Consume(within(t, limit), topic, 0, 0, 1)), kerr.TopicAuthorizationFailed},
		{"the writer joins a group", second(as("writer").ConsumeGroup(within(t, limit), topic, topic+"-2", 1)), kerr.GroupAuthorizationFailed},
		{"the writer deletes the topic", as("writer").DeleteTopic(within(t, limit), topic), kerr.TopicAuthorizationFailed},
		{"the reader creates a topic", as("reader").CreateTopic(within(t, limit), topic+"-2", 1), kerr.TopicAuthorizationFailed},
		{"the guest looks at the topic", second(as("guest").Partitions(within(t, limit), topic)), kerr.TopicAuthorizationFailed},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", test.what, test.err, test.want)
		}
	}
	for user, want := range map[string]bool{"writer": true, "reader": true, "guest": false} {
		topics, err := as(user).Topics(within(t, limit))
		if err != nil || slices.Contains(topics, topic) != want {
			t.Errorf("the topics of the %s are %q, %v", user, topics, err)
		}
	}

	t.Run("kcat", func(t *testing.T) {
		requireTool(t, "kcat")
		writer := way{login.Kafka, as("writer").Security}
		if _, log, err := kcatOver(t, writer, "one more\n", "-P", "-t", topic); err != nil {
			t.Errorf("the writer writes: %v\n%s", err, log)
		}
		out, log, err := kcatOver(t, way{login.Kafka, as("reader").Security}, "", "-C", "-t", topic, "-o", "-1", "-e", "-q")
		if err != nil || out != "one more\n" {
			t.Errorf("the reader reads %q, %v\n%s", out, err, log)
		}
		if _, log, err := kcatOver(t, writer, "", "-C", "-t", topic, "-e"); err == nil || !strings.Contains(log, "Topic authorization failed") {
			t.Errorf("the writer reads: %v\n%s", err, log)
		}
	})
}

// second is the error of a call that returns something else as well.
func second[T any](_ T, err error) error { return err }
