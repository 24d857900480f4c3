// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (in Input) String() string {
	return [numInputs]string{"Versions", "Handshake", "RawHandshake", "Foreign", "Token", "Request", "Accepted", "Rejected", "Unchecked"}[in]
}

func (s state) String() string {
	return [numStates]string{"fresh", "awaitingToken", "awaitingRawToken", "checking", "ready", "renewable", "expired", "closed"}[s]
}

func (v Verdict) String() string {
	return [...]string{"Close", "Expire", "Serve", "Agree", "Offer", "Check", "Admit", "Refuse", "Decline", "Illegal"}[v]
}

// The whole table, but for what closes the connection without a word.
func TestTransitions(t *testing.T) {
	want := `
fresh Versions: Serve, fresh
fresh Handshake: Agree, awaitingToken
fresh RawHandshake: Agree, awaitingRawToken
fresh Foreign: Offer, closed
awaitingToken Versions: Illegal, closed
awaitingToken Handshake: Illegal, closed
awaitingToken RawHandshake: Illegal, closed
awaitingToken Foreign: Illegal, closed
awaitingToken Token: Check, checking
awaitingToken Request: Illegal, closed
awaitingRawToken Token: Check, checking
checking Accepted: Admit, ready
checking Rejected: Refuse, closed
ready Versions: Serve, ready
ready Handshake: Decline, ready
ready RawHandshake: Decline, ready
ready Foreign: Decline, ready
ready Token: Decline, ready
ready Request: Serve, ready
renewable Versions: Serve, ready
renewable Handshake: Agree, awaitingToken
renewable RawHandshake: Agree, awaitingRawToken
renewable Foreign: Offer, closed
renewable Token: Decline, ready
renewable Request: Serve, ready
expired Versions: Expire, closed
expired Handshake: Agree, awaitingToken
expired RawHandshake: Agree, awaitingRawToken
expired Foreign: Offer, closed
expired Token: Expire, closed
expired Request: Expire, closed
`
	var got strings.Builder
	got.WriteString("\n")
	for s, row := range transitions() {
		for in, step := range row {
			if step.verdict == Close && step.next == closed {
				continue
			}
			fmt.Fprintf(&got, "%v %v: %v, %v\n", state(s), Input(in), step.verdict, step.next)
		}
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
