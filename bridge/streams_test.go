// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import "testing"

// Permissions name streams and topics by Iggy's numbers: those of a topic, those of the stream in which a topic would be, and
// none where there is no such stream.
func TestNumbers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		made := topic(t, b, "orders", 1)
		view, err := b.Topics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen, _ := view.ByName("orders")
		stream, number := made.Numbers()
		if s, n := seen.Numbers(); s != stream || n != number {
			t.Errorf("made as %d, %d and seen as %d, %d", stream, number, s, n)
		}
		for _, name := range []string{"orders", "not-there-yet"} {
			if in, ok := view.StreamOf(name); !ok || in != stream {
				t.Errorf("%s is in %d, %v", name, in, ok)
			}
		}
		if in, ok := b.DefaultStream(); !ok || in != stream {
			t.Errorf("the default stream is %d, %v", in, ok)
		}
		if in, ok := new(TopicView).StreamOf("orders"); ok {
			t.Errorf("without topics it is in %d", in)
		}
		f.mu.Lock()
		delete(f.streams, "kafka")
		f.mu.Unlock()
		if view, err = b.TopicsWithin(t.Context(), -1); err != nil {
			t.Fatal(err)
		}
		if in, ok := view.StreamOf("orders"); ok {
			t.Errorf("in a stream that is gone: %d", in)
		}
		if in, ok := b.DefaultStream(); ok {
			t.Errorf("the default stream that is gone is %d", in)
		}
	})
}
