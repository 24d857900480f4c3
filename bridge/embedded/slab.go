// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

// slab gives out the smallest numbers that it can and gives a number out again
// after its value was removed, the last removed first: Iggy's numbering of
// streams, topics, groups and users. The zero slab is empty.
type slab[T any] struct {
	items []*T
	free  []uint32
	count int
}

// add stores v under the next number.
func (s *slab[T]) add(v *T) uint32 {
	s.count++
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		s.items[id] = v
		return id
	}
	s.items = append(s.items, v)
	return uint32(len(s.items) - 1)
}

// next is the number that add will use.
func (s *slab[T]) next() uint32 {
	if n := len(s.free); n > 0 {
		return s.free[n-1]
	}
	return uint32(len(s.items))
}

// restore builds the slab that holds values under their old numbers. Of the
// numbers between them the lowest will be given out first.
func (s *slab[T]) restore(values map[uint32]*T) {
	*s = slab[T]{count: len(values)}
	for id := range values {
		if int(id) >= len(s.items) {
			s.items = append(s.items, make([]*T, int(id)+1-len(s.items))...)
		}
		s.items[id] = values[id]
	}
	for id := len(s.items) - 1; id >= 0; id-- {
		if s.items[id] == nil {
			s.free = append(s.free, uint32(id))
		}
	}
}

// get returns the value with number id, or nil.
func (s *slab[T]) get(id uint32) *T {
	if uint64(id) >= uint64(len(s.items)) {
		return nil
	}
	return s.items[id]
}

// remove takes the value with number id out.
func (s *slab[T]) remove(id uint32) {
	s.items[id] = nil
	s.free = append(s.free, id)
	s.count--
}

// all yields the values by ascending number.
func (s *slab[T]) all(yield func(uint32, *T) bool) {
	for id, v := range s.items {
		if v != nil && !yield(uint32(id), v) {
			return
		}
	}
}
