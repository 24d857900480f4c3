// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"testing"
	"time"
)

// The writer gets what is complete at the front, in order: small answers together, a large one by itself.
func TestPipelineTake(t *testing.T) {
	const small, large = 1000, batchSize + 1
	tests := []struct {
		name  string
		sizes []int // 0 = not complete
		want  [][]int
	}{
		{"nothing complete", []int{0, small}, nil},
		{"up to the first that is not", []int{small, small, 0, small}, [][]int{{0, 1}}},
		{"a large one", []int{large, small}, [][]int{{0}, {1}}},
		{"a large one behind", []int{small, large, small}, [][]int{{0}, {1}, {2}}},
		{"up to the batch size", []int{batchSize / 2, batchSize / 2, 1}, [][]int{{0, 1}, {2}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPipeline(8, time.Now())
			var all []*exchange
			for range test.sizes {
				ex := &exchange{}
				all = append(all, ex)
				p.add(ex)
			}
			// Last first: the order of completion must not matter.
			for i, size := range slices.Backward(test.sizes) {
				if size > 0 {
					p.complete(all[i], outgoing{size: size})
				}
			}
			for _, want := range test.want {
				batch, end := p.take(nil)
				var got []int
				for _, ex := range batch {
					got = append(got, slices.Index(all, ex))
				}
				if !slices.Equal(got, want) || end.cause != 0 {
					t.Fatalf("took %v, want %v; end %v", got, want, end)
				}
				p.written(len(batch))
			}
			if batch, end := p.take(nil); len(batch) > 0 || end.cause != 0 {
				t.Errorf("took %d more; end %v", len(batch), end)
			}
		})
	}
}

// The end comes after everything that was added before it, and places in the ring are used over and over.
func TestPipelineEnd(t *testing.T) {
	p := newPipeline(2, time.Now())
	for range 5 {
		first, second := &exchange{}, &exchange{}
		p.add(first)
		p.add(second)
		p.complete(first, outgoing{})
		batch, _ := p.take(nil)
		p.written(len(batch))
		if _, quiet := p.quiet(); len(batch) != 1 || quiet {
			t.Fatalf("took %d of 2, quiet %v", len(batch), quiet)
		}
		p.complete(second, outgoing{})
		if batch, _ = p.take(nil); len(batch) != 1 || batch[0] != second {
			t.Fatalf("took %d", len(batch))
		}
		p.written(1)
	}
	last := &exchange{}
	p.add(last)
	p.finish(closing{cause: Malformed})
	p.complete(last, outgoing{})
	if batch, end := p.take(nil); len(batch) != 1 || end.cause != 0 {
		t.Errorf("took %d, end %v", len(batch), end)
	}
	if batch, end := p.take(nil); len(batch) != 0 || end.cause != Malformed {
		t.Errorf("took %d, end %v", len(batch), end)
	}
}
