// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/IBM/sarama"
)

// The libraries' words for a broken sequence are known as such, whatever else they say is an error.
func TestWords(t *testing.T) {
	var w words
	w.ack(Ack{Number: 1})
	w.fail(2, 0, 5, kerr.OutOfOrderSequenceNumber.Error())
	w.fail(3, 1, 6, sarama.ErrOutOfOrderSequenceNumber.Error())
	w.fail(4, -1, 7, "class org.apache.kafka.common.errors.OutOfOrderSequenceException: The broker received an out of order sequence number.")
	w.fail(5, 2, 8, "no")
	want := ProducerHistory{
		Name: ProducerPlan{Library: SDK}.String(), Guarantee: Once, Sent: 6, Acks: []Ack{{Number: 1}},
		Breaks: []Break{{0, 5}, {1, 6}, {-1, 7}}, Errors: []string{"5 to partition 2: no"},
	}
	if diff := cmp.Diff(want, w.history(ProducerPlan{Library: SDK}, 6), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.told != 5 {
		t.Errorf("told of %d records", w.told)
	}
}

func TestErrorList(t *testing.T) {
	var l errorList
	for n := range mostFaults + 2 {
		l.add("%d", n)
	}
	if got := l.list(); len(got) != mostFaults+1 || got[mostFaults] != "and 2 more errors" {
		t.Errorf("%q", got)
	}
}
