// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func words(s string) []string { return strings.Fields(s) }

// A step of a story: a request and what comes of it. Sessions are numbered 1, 2, 3 as they are made.
type step struct {
	version   int16
	id, epoch int32
	names     string
	log       log
	want      error
	made      int32 // the answer's id
	asked     string
	told      string
}

var (
	idle    = Outcome{HighWatermark: 5}
	records = Outcome{HighWatermark: 5, Records: true}
	failed  = Outcome{HighWatermark: -1, LogStart: -1, Failed: true}
)

// What a session is and does, as stories; answers of a real broker to the same stories are in the gateway's tests.
func TestStories(t *testing.T) {
	quiet := log{"a/0": idle, "a/1": idle, "b/0": idle, "b/1": idle}
	with := func(changes log) log {
		l := log{}
		for name, o := range quiet {
			l[name] = o
		}
		for name, o := range changes {
			l[name] = o
		}
		return l
	}
	stories := map[string][]step{
		"no session is asked for": {
			{version: 6, epoch: 0, names: "a/0@1", log: quiet, asked: "a/0@1", told: "a/0@1"},
			{version: 7, epoch: -1, names: "a/0@1 b/0@2", log: quiet, asked: "a/0@1 b/0@2", told: "a/0@1 b/0@2"},
			{version: 7, id: 1, epoch: 1, want: ErrNotFound},
			{version: byName, epoch: -1, names: "a/0@1 -a/0", log: quiet, asked: "a/0@1", told: "a/0@1"},
			{version: 6, names: "-a/0", log: quiet},
		},
		"what is idle is left out": {
			{version: 7, names: "a/0@5 a/1@5 b/0@5", log: quiet, made: 1, asked: "a/0@5 a/1@5 b/0@5", told: "a/0@5 a/1@5 b/0@5"},
			{version: 7, id: 1, epoch: 1, log: quiet, made: 1, asked: "a/0@5 a/1@5 b/0@5"},
			{version: 7, id: 1, epoch: 2, log: with(log{"b/0": {HighWatermark: 6}}), made: 1, asked: "a/0@5 a/1@5 b/0@5", told: "b/0@5"},
			{version: 7, id: 1, epoch: 3, log: with(log{"b/0": {HighWatermark: 6}}), made: 1, asked: "a/0@5 a/1@5 b/0@5"},
			{version: 7, id: 1, epoch: 4, log: with(log{"b/0": {HighWatermark: 6}, "a/1": {HighWatermark: 5, LogStart: 2}}), made: 1, asked: "a/0@5 a/1@5 b/0@5", told: "a/1@5"},
			{version: 7, id: 1, epoch: 5, log: quiet, made: 1, asked: "a/0@5 a/1@5 b/0@5", told: "a/1@5 b/0@5"},
		},
		"records come each time, and go to the end": {
			{version: 7, names: "a/0@0 a/1@5 b/0@5", log: with(log{"a/0": records}), made: 1, asked: "a/0@0 a/1@5 b/0@5", told: "a/0@0 a/1@5 b/0@5"},
			{version: 7, id: 1, epoch: 1, log: with(log{"a/0": records}), made: 1, asked: "a/1@5 b/0@5 a/0@0", told: "a/0@0"},
			{version: 7, id: 1, epoch: 2, names: "a/0@5", log: with(log{"b/0": records}), made: 1, asked: "a/1@5 b/0@5 a/0@5", told: "b/0@5"},
			{version: 7, id: 1, epoch: 3, log: quiet, made: 1, asked: "a/1@5 a/0@5 b/0@5"},
		},
		"errors come each time, and so does their end": {
			{version: 7, names: "a/0 no/0", log: quiet, made: 1, asked: "a/0@0 no/0@0", told: "a/0@0 no/0@0"},
			{version: 7, id: 1, epoch: 1, log: quiet, made: 1, asked: "a/0@0 no/0@0", told: "no/0@0"},
			{version: 7, id: 1, epoch: 2, log: with(log{"a/0": failed}), made: 1, asked: "a/0@0 no/0@0", told: "a/0@0 no/0@0"},
			{version: 7, id: 1, epoch: 3, log: with(log{"no/0": {HighWatermark: 0}}), made: 1, asked: "a/0@0 no/0@0", told: "a/0@0 no/0@0"},
			{version: 7, id: 1, epoch: 4, log: with(log{"no/0": {HighWatermark: 0}}), made: 1, asked: "a/0@0 no/0@0"},
			{version: 7, id: 1, epoch: 5, log: with(log{"a/0": {HighWatermark: 5, Failed: true}, "no/0": {HighWatermark: 0}}), made: 1, asked: "a/0@0 no/0@0", told: "a/0@0"},
			{version: 7, id: 1, epoch: 6, log: with(log{"no/0": {HighWatermark: 0}}), made: 1, asked: "a/0@0 no/0@0", told: "a/0@0"},
		},
		"partitions are added, changed and forgotten": {
			{version: 7, names: "a/0 a/1", log: quiet, made: 1, asked: "a/0@0 a/1@0", told: "a/0@0 a/1@0"},
			{version: 7, id: 1, epoch: 1, names: "b/0@3 a/0@2", log: quiet, made: 1, asked: "a/0@2 a/1@0 b/0@3", told: "b/0@3"},
			{version: 7, id: 1, epoch: 2, names: "-a/1", log: quiet, made: 1, asked: "a/0@2 b/0@3"},
			{version: 7, id: 1, epoch: 3, names: "a/1@1", log: quiet, made: 1, asked: "a/0@2 b/0@3 a/1@1", told: "a/1@1"},
			{version: 7, id: 1, epoch: 4, names: "-c/0 -a/7 -b/0", log: quiet, made: 1, asked: "a/0@2 a/1@1"},
			{version: 7, id: 1, epoch: 5, names: "b/1@4 -b/1", log: quiet, made: 1, asked: "a/0@2 a/1@1"},
		},
		"forgetting everything ends it": {
			{version: 7, names: "a/0 a/1", log: quiet, made: 1, asked: "a/0@0 a/1@0", told: "a/0@0 a/1@0"},
			{version: 7, id: 1, epoch: 1, names: "a/0@3 -a/0 -a/1", log: quiet, asked: "a/0@3", told: "a/0@3"},
			{version: 7, id: 1, epoch: 2, want: ErrNotFound},
		},
		"a session of nothing": {
			{version: 7, made: 1},
			{version: 7, id: 1, epoch: 1},
			{version: 7, id: 1, epoch: 2, want: ErrNotFound},
		},
		"a wrong epoch changes nothing": {
			{version: 7, names: "a/0", log: quiet, made: 1, asked: "a/0@0", told: "a/0@0"},
			{version: 7, id: 1, epoch: 2, names: "a/1", want: ErrEpoch},
			{version: 7, id: 1, epoch: -2, names: "-a/0", want: ErrEpoch},
			{version: 7, id: 1, epoch: 1, log: quiet, made: 1, asked: "a/0@0"},
			{version: 7, id: 1, epoch: 1, want: ErrEpoch},
			{version: 7, id: 9, epoch: 1, want: ErrNotFound},
			{version: 7, id: 0, epoch: 5, want: ErrNotFound},
			{version: 7, id: 0, epoch: -2, want: ErrNotFound},
			{version: 7, id: -1, epoch: 1, want: ErrNotFound},
		},
		"a full fetch ends the session that it names": {
			{version: 7, names: "a/0", log: quiet, made: 1, asked: "a/0@0", told: "a/0@0"},
			{version: 7, names: "b/0", log: quiet, made: 2, asked: "b/0@0", told: "b/0@0"},
			{version: 7, id: 1, epoch: -1, names: "a/1", log: quiet, asked: "a/1@0", told: "a/1@0"},
			{version: 7, id: 1, epoch: 1, want: ErrNotFound},
			{version: 7, id: 2, epoch: 0, names: "a/1", log: quiet, made: 3, asked: "a/1@0", told: "a/1@0"},
			{version: 7, id: 2, epoch: 1, want: ErrNotFound},
			{version: 7, id: 3, epoch: 1, log: quiet, made: 3, asked: "a/1@0"},
			{version: 7, id: 77, epoch: 0, names: "a/1", log: quiet, made: 4, asked: "a/1@0", told: "a/1@0"},
		},
		"names and ids do not mix": {
			{version: byName, names: "a/0", log: quiet, made: 1, asked: "a/0@0", told: "a/0@0"},
			{version: byID, names: "b/0", log: quiet, made: 2, asked: "b/0@0", told: "b/0@0"},
			{version: byID, id: 1, epoch: 1, names: "b/0", want: ErrTopicID},
			{version: byName, id: 2, epoch: 1, names: "a/0", want: ErrTopicID},
			{version: byID, id: 1, epoch: 2, want: ErrEpoch},
			{version: byName, id: 1, epoch: 1, names: "a/1", log: quiet, made: 1, asked: "a/0@0 a/1@0", told: "a/1@0"},
			{version: byID + 5, id: 2, epoch: 1, names: "a/1 -b/0", log: quiet, made: 2, asked: "a/1@0", told: "a/1@0"},
			{version: byID, id: 2, epoch: 2, names: "-a/1", log: quiet},
		},
		"of a partition that is named twice the last word counts": {
			{version: 7, names: "a/0@1 b/0@1 a/0@2", log: quiet, made: 1, asked: "a/0@2 b/0@1", told: "a/0@2 b/0@1"},
			{version: 7, id: 1, epoch: 1, names: "a/0@3 a/0@4", log: quiet, made: 1, asked: "a/0@4 b/0@1"},
			{version: 7, id: 1, epoch: -1, names: "b/0@1 a/0@1 b/0@2", log: quiet, asked: "b/0@2 a/0@1", told: "b/0@2 a/0@1"},
			{version: 6, names: "b/0@1 a/0@1 b/0@2", log: quiet, asked: "b/0@2 a/0@1", told: "b/0@2 a/0@1"},
			{version: byID, names: "a/0 -a/0", log: quiet, made: 2, asked: "a/0@0", told: "a/0@0"},
		},
	}
	for name, steps := range stories {
		t.Run(name, func(t *testing.T) {
			c := newCache(nil)
			for i, s := range steps {
				got, err := c.fetch(epoch0, request(s.version, s.id, s.epoch, words(s.names)...), s.log)
				if !errors.Is(err, s.want) || s.want == nil && err != nil {
					t.Fatalf("step %d: %v, want %v", i, err, s.want)
				}
				want := answer{id: s.made, asked: words(s.asked), told: words(s.told)}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{}), equateEmpty); diff != "" {
					t.Fatalf("step %d: %s", i, diff)
				}
			}
		})
	}
}

var equateEmpty = cmp.Transformer("joined", func(s []string) string { return strings.Join(s, " ") })
