// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestMain lets more tests run at once than there are cores, unless it is told otherwise: those that do mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err) // the name of the flag
		}
	}
	os.Exit(m.Run())
}

// report logs what a client was put through and how that ended, and appends it to the file that E2E_REPORT names, as a
// row of a table: client, version, target, what was exercised, result.
func report(t *testing.T, target *harness.Target, client, version, exercised string, passed bool) {
	t.Helper()
	result := map[bool]string{true: "passed", false: "failed"}[passed]
	row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", client, version, target.Name, exercised, result)
	t.Log(row)
	path := os.Getenv("E2E_REPORT")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	if _, err := file.WriteString(row); err != nil {
		t.Error(err)
	}
}
