// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// Fetching is for tests that look at what Fetch requests hold.
func (a *API) Fetching() *budget.Budget { return a.fetching }

// However a Fetch divides its bytes: together no more than the limit, nobody more than it has use for, and whoever gets
// something gets a message at least. When all can have that much, nobody gets less than an equal part as far as it has
// use for it, and nothing is left that somebody wants. The first gets something in any case.
func TestFetchShare(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		req := kmsg.NewPtrFetchRequest()
		req.MaxBytes = random.Int32N(50_000) + 2
		f := &fetchRun{req: req, api: &API{Config: Config{FetchMaxBytes: 40_000}, Deps: Deps{ResponseBudget: budget.New(1 << 20)}}}
		ready := make([]*fetchItem, 1+random.IntN(20))
		wanted, enough := 0, true // enough: for a message each
		for i := range ready {
			bounds := bridge.Bounds{Next: random.Int64N(100) + 1, MessageSize: random.Int64N(4000)}
			it := &fetchItem{Part: fetchsession.Part{MaxBytes: 2 + random.Int32N(10_000)}, known: true, bounds: bounds, first: bounds}
			ready[i] = it
			wanted += it.use()
			enough = enough && atLeast(it) <= f.limit()/len(ready)
		}
		f.share(ready)
		limit, total := f.limit(), 0
		for i, it := range ready {
			if i == 0 && it.want == 1 {
				continue // there was nothing for it, but it gets something
			}
			total += it.want
			if it.want > it.use() || it.want > 0 && it.want < atLeast(it) {
				t.Fatalf("item %d of %d gets %d: use %d, one message %d, limit %d", i, len(ready), it.want, it.use(), atLeast(it), limit)
			}
			if enough && it.want < min(it.use(), limit/len(ready)) {
				t.Fatalf("item %d of %d gets %d: use %d, limit %d", i, len(ready), it.want, it.use(), limit)
			}
		}
		if total > limit || enough && total != min(limit, wanted) {
			t.Fatalf("%d of %d given, %d wanted", total, limit, wanted)
		}
	}
}

// atLeast is what serves one message of a partition.
func atLeast(it *fetchItem) int {
	size := int(it.bounds.MessageSize)
	if size == 0 {
		size = unknownMessageSize
	}
	return min(it.use(), size+recordcodec.HeaderSize)
}

// The first one gets something whatever the limits are.
func TestFetchShareOfNothing(t *testing.T) {
	req := kmsg.NewPtrFetchRequest()
	f := &fetchRun{req: req, api: &API{Deps: Deps{ResponseBudget: budget.New(1 << 20)}}}
	ready := []*fetchItem{{known: true, bounds: bridge.Bounds{Next: 1}}, {known: true, bounds: bridge.Bounds{Next: 1}}}
	f.share(ready)
	if ready[0].want < 1 || ready[1].want != 0 {
		t.Errorf("shares %d and %d", ready[0].want, ready[1].want)
	}
	f.share(nil)
}

// What an answer takes besides the records is reserved as well: a request for very many partitions that have none.
func TestFetchFieldsAreReserved(t *testing.T) {
	budgeted := budget.New(100_000)
	f := &fetchRun{req: kmsg.NewPtrFetchRequest(), api: &API{
		Config: Config{WriteTimeout: time.Second}, Deps: Deps{ResponseBudget: budgeted},
	}}
	f.items = missing(1000)
	if err := f.read(t.Context()); err != nil || budgeted.Used() != int64(f.metaSize()) {
		t.Errorf("%v, %d bytes reserved of %d", err, budgeted.Used(), f.metaSize())
	}
	f.release()
	if n := budgeted.Used(); n != 0 {
		t.Errorf("%d bytes not given back", n)
	}
	f.items = missing(10_000)
	if err := f.read(t.Context()); !errors.Is(err, errBudget) {
		t.Errorf("more than the budget: %v", err)
	}
}

func missing(partitions int) []fetchItem {
	items, topic := make([]fetchItem, partitions), &fetchsession.Topic{Name: "missing"}
	for i := range items {
		items[i].Topic = topic
	}
	return items
}

// A slice from the pool has the room that was asked for, also when one that had grown came back before.
func TestBufferPool(t *testing.T) {
	var p bufferPool
	for _, n := range []int{0, 1, 1023, 1024, 1025, 4096, 5000, 1 << 20, 1<<23 - 1, 1 << 23, 1<<23 + 1, 20 << 20} {
		for range 3 {
			b := p.get(n)
			if len(b) != 0 || cap(b) < n {
				t.Errorf("%d: length %d, capacity %d", n, len(b), cap(b))
			}
			p.put(append(b, make([]byte, n+n/3)...))
		}
	}
	p.put(nil)
	p.put(make([]byte, 10))
}
