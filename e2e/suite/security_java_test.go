// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testSecuredJava takes Kafka's own client through all of it, once, and its tool for ACLs: what Iggy lets a user do is
// listed as Kafka's bindings.
func testSecuredJava(t *testing.T, login, mutual *secured, relogin *harness.Target) {
	client := jvmProgram(t, "java-client")
	stranger, err := harness.NewAuthority(t.TempDir(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("clients", func(t *testing.T) {
		t.Parallel()
		defer func() {
			report(t, login.Target, "Java, secured", client.version(t, "kafka-clients"),
				"SASL_PLAINTEXT, SASL_SSL, SSL with both certificates, re-authentication, wrong password, unknown authority, missing certificate", !t.Failed())
		}()
		args := []string{
			"sasl=" + login.Kafka, "sasl.tls=" + login.tls, "mutual=" + mutual.tls, "relogin=" + relogin.Kafka,
			"user=" + appUser, "password=" + appPassword, "ca=" + login.authority.CA, "mutual.ca=" + mutual.authority.CA,
			"key=" + mutual.client.Both, "stranger=" + stranger.CA, "topic=" + topicName(t), fmt.Sprintf("seconds=%d", reloginSeconds),
		}
		expectText(t, "testdata/java-client/Secured.txt", client.run(t, "", append([]string{"Secured"}, args...)...))
	})
	t.Run("acls", func(t *testing.T) {
		t.Parallel()
		defer func() {
			report(t, login.Target, "kafka-acls", client.version(t, "kafka-tools"), "list, add is refused", !t.Failed())
		}()
		settings := filepath.Join(t.TempDir(), "client.properties")
		if err := os.WriteFile(settings, fmt.Appendf(nil, "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"+
			"sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=%q password=%q;\n", appUser, appPassword), 0o600); err != nil {
			t.Fatal(err)
		}
		var commands strings.Builder
		for _, args := range []string{"--list", "--list --topic any --resource-pattern-type match", "--list --topic any", "--list --principal User:somebody", "--add --allow-principal User:somebody --operation Read --topic any"} {
			fmt.Fprintf(&commands, "AclCommand --bootstrap-server %s --command-config %s %s\n", login.Kafka, settings, args)
		}
		printed := client.run(t, commands.String(), "Tools")
		printed = strings.NewReplacer(login.Kafka, "ADDR", settings, "FILE").Replace(printed)
		expectText(t, "testdata/tools/acls.txt", sortedBindings(printed))
	})
}

// sortedBindings sorts the bindings of each resource, and the resources of each command, which kafka-acls prints in no
// order, and leaves out stack traces.
func sortedBindings(printed string) string {
	trace := regexp.MustCompile(`(?m)^(\s+at |Caused by: |java\.).*\n`)
	command := regexp.MustCompile(`(?m)^\$ .*\n`)
	var blocks []string
	for block := range strings.SplitSeq(command.ReplaceAllString(trace.ReplaceAllString(printed, ""), "$0\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		first := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "(principal=") })
		if first >= 0 {
			slices.Sort(lines[first:])
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	const begins = "Current ACLs"
	for i := 0; i < len(blocks); i++ {
		from := i
		for i < len(blocks) && strings.HasPrefix(blocks[i], begins) {
			i++
		}
		slices.Sort(blocks[from:i])
	}
	return strings.TrimRight(strings.Join(blocks, "\n\n"), "\n") + "\n"
}

// expectText compares with a file, the lines of which that begin with # are for its readers.
func expectText(t *testing.T, path, got string) {
	t.Helper()
	if want := readText(t, path); got != want {
		t.Errorf("%s says\n%s\nprinted is\n%s", path, want, got)
	}
}
