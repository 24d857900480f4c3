// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"errors"
	"testing"
)

// written is a log of records, each with its writer's boot id and number.
type written struct {
	boot     string
	sequence uint64
	record   record
}

func foldOf(t *testing.T, log []written) *fold {
	t.Helper()
	f := newFold(newView(), 1<<20)
	for i, w := range log {
		m := Message{Offset: int64(i), Checkpoint: -1, Sequence: w.sequence, Payload: appendRecord(nil, writerOf(w.boot), w.record)}
		if err := f.message(&m); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Whose records count, and under which term.
func TestOwners(t *testing.T) {
	own := func(boot string, term, sequence uint64) written {
		return written{boot, sequence, owner{term: term, partitions: 1, bootID: boot}}
	}
	set := func(boot string, sequence uint64, next int64) written {
		return written{boot, sequence, producerIDs{0, next}}
	}
	for _, tc := range []struct {
		name string
		log  []written
		boot string
		term uint64
		next int64
	}{
		{"one", []written{own("a", 1, 1), set("a", 2, 5)}, "a", 1, 5},
		{"before its owner record", []written{set("a", 1, 5), own("a", 1, 2)}, "a", 1, 0},
		{"taken over", []written{own("a", 1, 1), own("b", 2, 1), set("a", 2, 5)}, "b", 2, 0},
		{"an older one again", []written{own("a", 1, 1), own("b", 2, 1), own("a", 1, 3), set("b", 2, 5), set("a", 4, 9)}, "b", 2, 5},
		{"the same with a higher term", []written{own("a", 1, 1), own("a", 3, 2), own("b", 2, 1), set("a", 3, 5)}, "a", 3, 5},
		{"the same again, as it was", []written{own("a", 2, 1), own("a", 2, 2), set("a", 3, 5)}, "a", 2, 5},
		{"late", []written{own("a", 1, 1), set("a", 3, 5), set("a", 2, 9)}, "a", 1, 5},
		{"twice", []written{own("a", 1, 1), set("a", 2, 5), set("a", 2, 9)}, "a", 1, 5},
		{"late owner record", []written{own("a", 1, 1), set("a", 3, 5), own("a", 7, 2)}, "a", 1, 5},
		{"late, over another's", []written{own("a", 1, 8), own("b", 2, 1), set("b", 2, 5), set("a", 2, 9)}, "b", 2, 5},
		{"numbers are the writer's own", []written{own("a", 1, 8), own("b", 2, 1), set("b", 2, 5)}, "b", 2, 5},
	} {
		f := foldOf(t, tc.log)
		if f.owner.bootID != tc.boot || f.owner.term != tc.term || f.view.producers[0] != tc.next {
			t.Errorf("%s: %v owns it, the state is %d", tc.name, f.owner, f.view.producers[0])
		}
	}
}

// A late part belongs to nothing, and what was cut short ends with what comes next.
func TestLateParts(t *testing.T) {
	payload := appendRecord(nil, writerOf("a"), producerIDs{0, 5})
	half := len(payload) / 2
	first, second := part{0, 2, string(payload[:half])}, part{1, 2, string(payload[half:])}
	f := foldOf(t, []written{
		{"a", 1, owner{term: 1, partitions: 1, bootID: "a"}},
		{"a", 4, first},                   // cut short
		{"a", 2, first}, {"a", 3, second}, // late
		{"a", 6, first}, {"a", 7, second},
	})
	if f.view.producers[0] != 5 || f.sequence != 7 {
		t.Errorf("%d, sequence %d", f.view.producers[0], f.sequence)
	}
}

// Messages that retention drops while a partition reads its tail can be read again: that is no corruption.
func TestTailDropped(t *testing.T) {
	cfg := Config{Storage: fixed{}, BootID: "a"}.withDefaults()
	p := newPartition(&cfg, 0)
	p.fold = newFold(newView(), p.maxRecord)
	record := appendRecord(nil, writerOf("b"), owner{term: 1, partitions: 1, bootID: "b"})
	err := p.readOthers([]Message{{Offset: 3, Checkpoint: -1, Sequence: 1, Payload: record}})
	if !errors.Is(err, errDropped) || permanent(err) || p.next != 0 {
		t.Errorf("%v, next %d", err, p.next)
	}
	p.next = 4
	if err := p.readOthers([]Message{{Offset: 3, Checkpoint: -1, Sequence: 1, Payload: record}}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an offset again: %v", err)
	}
	if err := p.failed(context.Background(), err); err != nil {
		t.Errorf("the partition ends with %v", err)
	}
}
