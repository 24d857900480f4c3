// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// list shows all groups, or those that the filter chooses. "_" stands for a blank.
//
//	list [states=(Stable,Empty)] [types=(classic)]
func (e *Env) list(_ *testing.T, d *datadriven.TestData) error {
	f := coordinator.Filter{States: list(d, "states"), Types: list(d, "types")}
	for _, names := range [][]string{f.States, f.Types} {
		for i, name := range names {
			names[i] = strings.ReplaceAll(name, "_", " ")
		}
	}
	for _, l := range e.groups.List(f) {
		e.printf("%q type=%q %v %s", l.ID, l.ProtocolType, l.State, l.Type)
	}
	return nil
}
