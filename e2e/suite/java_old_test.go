// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testJavaOld runs the oldest of Kafka's own clients that speaks what Kafka 4.1 still serves. The ones before it write
// with Produce 2, of the time before record batches, and 4.1 begins with 3.
func testJavaOld(t *testing.T, target *harness.Target) {
	old := jvmProgram(t, "java-old")
	defer func() {
		report(t, target, "Java, oldest", old.version(t, "kafka-clients"), "topics, producer plain and idempotent, four codecs, seek, times, group", !t.Failed())
	}()
	golden(t, target, "testdata/java-old/printed.txt", old.run(t, "", target.Kafka, topicName(t)))
}
