// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testJavaClient runs programs that are written with Kafka's own client, and compares what each step of theirs comes to.
// Calls whose APIs are not served must fail at once, and say so.
func testJavaClient(t *testing.T, target *harness.Target) {
	client := jvmProgram(t, "java-client")
	for _, program := range []struct{ name, client, exercised string }{
		{"Records", "Java", "producer by default, five codecs, seek, times, committed, resets"},
		{"Groups", "Java consumer groups", "all assignors, pattern, static member, commits"},
		{"Throttled", "Java under a quota", "producer and consumer, throttled by quotas that the AdminClient sets"},
		{"Consoles", "AKHQ and Kafbat UI, their calls", "cluster, nodes, topics, settings, records, groups, log directories, ACLs, quotas, changes"},
		{"AdminCalls", "Java AdminClient", "each call; what is not served is refused"},
	} {
		t.Run(program.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				report(t, target, program.client, client.version(t, "kafka-clients"), program.exercised, !t.Failed())
			}()
			expectBlocks(t, target, "testdata/java-client/"+program.name, client.run(t, "", program.name, target.Kafka, topicName(t)), stepBlocks)
		})
	}
}
