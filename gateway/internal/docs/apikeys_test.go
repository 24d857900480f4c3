// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

const apiKeys = "../../../docs/api-keys.md"

// lastKey is the highest key of Kafka 4.1 (org.apache.kafka.common.protocol.ApiKeys).
const lastKey = 92

// Why what is not served is not, as several keys share it.
const (
	transactions = "There are no transactions. FindCoordinator and InitProducerId refuse a transactional id first, so a producer fails before it gets here"
	acls         = "Permissions are Iggy's, and are changed there. `UnsupportedVersionException` in Java"
	tokens       = "Kafka's delegation tokens. Iggy has personal access tokens of its own, [which clients log in with](security.md#logins)"
	shares       = "Share groups (KIP-932). A share consumer fails at once with `UnsupportedVersionException`"
	streams      = "The protocol of Streams groups (KIP-1071). Kafka Streams uses the classic protocol unless it is told otherwise"
	consumers    = "The consumer protocol (KIP-848), which clients use with `group.protocol=consumer`. Not served yet; the classic one, the default, is"
	brokers      = "Spoken between brokers and controllers alone; no client sends it"
	removed      = "Spoken between brokers in ZooKeeper's days; Kafka itself removed it in 4.0"
	quorum       = "About Kafka's controllers, which there are none of"
	replicas     = "Replicas are Iggy's business"
	telemetry    = "Clients' telemetry (KIP-714). Clients that see it missing send none"
)

// apiNotes says what there is to know about each key: of those served, where that is short and not in the table of
// accepted differences; of the others, why not.
func apiNotes() map[int16]string {
	return map[int16]string{
		0:  "Versions 0 to 2, message sets of old, are advertised (KAFKA-18659) and close the connection. A transactional batch is refused",
		1:  "With sessions and topic ids. Followers are refused",
		2:  "By timestamp, with the special ones -1 to -5",
		3:  "One broker: this gateway",
		4:  removed,
		5:  removed,
		6:  removed,
		7:  removed,
		8:  "Version 10, with topic ids, is not served",
		9:  "Version 10, with topic ids, is not served",
		10: "Of groups: this gateway. Of transactions and share groups: refused",
		11: "The classic protocol, static members included",
		17: "PLAIN alone",
		18: "A higher version is answered in version 0 with `UNSUPPORTED_VERSION`. No features are told",
		21: "Hides records at once; their space comes back with retention",
		22: "Without a transactional id",
		23: "There is one leader epoch, 0",
		24: transactions,
		25: transactions,
		26: transactions,
		27: brokers + ", or by the tool for hanging transactions",
		28: transactions,
		29: "Shows Iggy's permissions as Kafka's bindings",
		30: acls,
		31: acls,
		32: "Of topics and of the gateway",
		33: "Of topics",
		34: replicas,
		35: "One directory, `iggy`",
		36: "PLAIN: the user and password, or personal access token, of a user of Iggy",
		38: tokens,
		39: tokens,
		40: tokens,
		41: tokens,
		43: "No election is ever needed",
		44: "Of topics",
		45: replicas,
		46: "None is ever under way",
		48: "Of bytes in and out, by user and client id",
		49: "Of bytes in and out, by user and client id",
		50: "Nobody has any: Iggy keeps hashes of its own",
		51: "Passwords are Iggy's, and are changed there",
		52: quorum,
		53: quorum,
		54: quorum,
		55: quorum + ". `kafka-metadata-quorum.sh` fails with `UnsupportedVersionException`",
		56: brokers,
		57: "There are no features to switch on",
		58: brokers,
		59: quorum,
		60: "One broker: this gateway",
		62: brokers,
		63: brokers,
		64: "There is one broker, and it is not registered anywhere",
		65: "Knows none",
		66: "Lists none",
		67: brokers,
		68: consumers,
		69: consumers,
		70: brokers,
		71: telemetry,
		72: telemetry,
		73: brokers,
		74: "Topics and this gateway",
		76: shares,
		77: shares,
		78: shares,
		79: shares,
		80: quorum,
		81: quorum,
		82: quorum,
		83: brokers,
		84: brokers,
		85: brokers,
		86: brokers,
		87: brokers,
		88: streams,
		89: streams,
		90: shares,
		91: shares,
		92: shares,
	}
}

// unserved names the keys that wire's table does not, as Kafka does.
func unserved() map[int16]string {
	return map[int16]string{
		4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown",
		24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", 26: "EndTxn", 27: "WriteTxnMarkers", 28: "TxnOffsetCommit",
		30: "CreateAcls", 31: "DeleteAcls", 34: "AlterReplicaLogDirs",
		38: "CreateDelegationToken", 39: "RenewDelegationToken", 40: "ExpireDelegationToken", 41: "DescribeDelegationToken",
		45: "AlterPartitionReassignments", 51: "AlterUserScramCredentials",
		52: "Vote", 53: "BeginQuorumEpoch", 54: "EndQuorumEpoch", 55: "DescribeQuorum", 56: "AlterPartition", 57: "UpdateFeatures", 58: "Envelope", 59: "FetchSnapshot",
		62: "BrokerRegistration", 63: "BrokerHeartbeat", 64: "UnregisterBroker", 67: "AllocateProducerIds", 70: "ControllerRegistration",
		71: "GetTelemetrySubscriptions", 72: "PushTelemetry", 73: "AssignReplicasToDirs",
		76: "ShareGroupHeartbeat", 77: "ShareGroupDescribe", 78: "ShareFetch", 79: "ShareAcknowledge",
		80: "AddRaftVoter", 81: "RemoveRaftVoter", 82: "UpdateRaftVoter",
		83: "InitializeShareGroupState", 84: "ReadShareGroupState", 85: "WriteShareGroupState", 86: "DeleteShareGroupState", 87: "ReadShareGroupStateSummary",
		88: "StreamsGroupHeartbeat", 89: "StreamsGroupDescribe",
		90: "DescribeShareGroupOffsets", 91: "AlterShareGroupOffsets", 92: "DeleteShareGroupOffsets",
	}
}

const apiKeysHead = `# Every API of Kafka

<!-- Made by go test ./internal/docs -rewrite, in gateway: change wire's table, or the notes in gateway/internal/docs/apikeys_test.go. -->

What becomes of a request, for each key of Kafka 4.1. **Served** keys are answered in the versions named, as a broker does but for the
[accepted differences](compatibility.md#accepted-differences). All others are not advertised by ApiVersions, so clients do not send them: they tell their caller that the
broker is too old, which Java calls ` + "`UnsupportedVersionException`" + `.

A request that comes all the same, with a key or version that is not served, closes its connection, as there is no answer that its sender could read.
The log says so: ` + "`cause=unknown_api` or `cause=unsupported_version`" + `, with the key and version.

| key | API | versions served | |
|---:|---|---|---|
`

func TestAPIKeys(t *testing.T) {
	compare(t, apiKeys, read(t, apiKeys), apiKeysPage(t))
}

// apiKeysPage lists every key: served or not, with what there is to know.
func apiKeysPage(t *testing.T) string {
	t.Helper()
	table, notes, others := wire.NewTable(), apiNotes(), unserved()
	var page strings.Builder
	page.WriteString(apiKeysHead)
	for key := range int16(lastKey + 1) {
		api, known := table.Lookup(key)
		name, versions := others[key], "–"
		switch {
		case known && name != "":
			t.Errorf("key %d is in wire's table as %s: take it out of unserved", key, api.Name)
		case known:
			name = api.Name
		case name == "":
			t.Errorf("key %d is neither in wire's table nor in unserved", key)
		}
		if known && api.Served {
			versions = versionRange(api.Min, api.Max)
			if api.Hidden {
				versions += ", where clients log in"
			}
		} else if notes[key] == "" {
			t.Errorf("nothing says why key %d, %s, is not served", key, name)
		}
		fmt.Fprintf(&page, "| %d | %s | %s | %s |\n", key, name, versions, notes[key])
	}
	for _, api := range table.APIs() {
		if api.Key > lastKey {
			t.Errorf("wire's table has key %d: raise lastKey", api.Key)
		}
	}
	return page.String()
}

func versionRange(low, high int16) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}
