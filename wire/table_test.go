// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The list keeps what the lookups and the protocol demand of it.
func TestEntries(t *testing.T) {
	last := int16(-1)
	for _, e := range entries() {
		if e.key <= last {
			t.Errorf("key %d is not above %d", e.key, last)
		}
		last = e.key
		if e.min < 0 || e.max < e.min || e.serve != later && (e.serve < e.min || e.serve > e.max) {
			t.Errorf("%s: versions %d-%d, serve %d", e.name, e.min, e.max, e.serve)
		}
		if want := kmsg.NameForKey(e.key); !strings.EqualFold(e.name, want) {
			t.Errorf("key %d is named %s, not %s", e.key, e.name, want)
		}
		switch e.key {
		case 24, 25, 26, 28:
			t.Errorf("%s would advertise transactions", e.name)
		}
	}
}

// Every version of every API has a layout, and it is that version's.
func TestLayouts(t *testing.T) {
	type id struct{ key, version int16 }
	layoutOf := map[id]layout{}
	for _, l := range layouts() {
		layoutOf[id{l.key, l.version}] = l
	}
	for _, table := range []*Table{NewTable(), NewTable(ServeAll())} {
		for _, r := range table.rows {
			if got, want := len(r.layouts), int(r.Max-r.Min)+1; got != want {
				t.Fatalf("%s: %d layouts for %d versions", r.Name, got, want)
			}
			for v := r.Min; v <= r.Max; v++ {
				want := layoutOf[id{r.Key, v}]
				got := r.layouts[v-r.Min]
				if diff := cmp.Diff(want.compile(), got.fields, cmp.AllowUnexported(field{})); diff != "" {
					t.Errorf("%s v%d (-want +got):\n%s", r.Name, v, diff)
				}
				req, resp := kmsg.RequestForKey(r.Key), kmsg.ResponseForKey(r.Key)
				req.SetVersion(v)
				resp.SetVersion(v)
				if flexible := got.header == 2; flexible != req.IsFlexible() {
					t.Errorf("%s v%d: request header v%d", r.Name, v, got.header)
				}
				if flexible := got.respHeader == 1; flexible != (resp.IsFlexible() && r.Key != apiVersionsKey) {
					t.Errorf("%s v%d: response header v%d", r.Name, v, got.respHeader)
				}
			}
		}
	}
}

func TestCompile(t *testing.T) {
	fixed := func(width int) field { return field{kind: fixed, width: width} }
	tests := []struct {
		body  string
		elems []int64
		want  []field
	}{
		{"", nil, nil},
		{"1248U", nil, []field{fixed(31)}},
		{"4S4B", nil, []field{fixed(4), {kind: str}, fixed(4), {kind: bytes}}},
		{"sbT", nil, []field{{kind: compact}, {kind: compactBytes}, {kind: tagged}}},
		{"[4]2", []int64{4}, []field{
			{kind: array, elemSize: 4, scalar: true, fields: []field{fixed(4)}}, fixed(2)}},
		{"{44}", []int64{8}, []field{{kind: compactArray, elemSize: 8, fields: []field{fixed(8)}}}},
		{"[S{4}]{s}", []int64{40, 4, 16}, []field{
			{kind: array, elemSize: 40, fields: []field{
				{kind: str},
				{kind: compactArray, elemSize: 4, scalar: true, fields: []field{fixed(4)}}}},
			{kind: compactArray, elemSize: 16, fields: []field{{kind: compact}}}}},
		{"4?(s4T)T", nil, []field{
			fixed(4),
			{kind: nullableGroup, fields: []field{{kind: compact}, fixed(4), {kind: tagged}}},
			{kind: tagged}}},
	}
	for _, test := range tests {
		got := layout{body: test.body, elems: test.elems}.compile()
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(field{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.body, diff)
		}
	}
}

func TestLookup(t *testing.T) {
	table := NewTable()
	for _, want := range []API{
		{Key: 0, Name: "Produce", Min: 3, Max: 13, AdvertisedMin: 0, LargeFrame: true, Served: true},
		{Key: 1, Name: "Fetch", Min: 4, Max: 18, AdvertisedMin: 4, LargeFrame: true, Served: true},
		{Key: 3, Name: "Metadata", Min: 0, Max: 13, AdvertisedMin: 0, Served: true},
		{Key: 11, Name: "JoinGroup", Min: 0, Max: 9, AdvertisedMin: 0, LargeFrame: true, Served: true},
		{Key: 29, Name: "DescribeAcls", Min: 1, Max: 3, AdvertisedMin: 1, Served: true, Hidden: true},
		{Key: 68, Name: "ConsumerGroupHeartbeat", Max: 1},
		{Key: 75, Name: "DescribeTopicPartitions", Served: true},
	} {
		got, known := table.Lookup(want.Key)
		if diff := cmp.Diff(want, got); !known || diff != "" {
			t.Errorf("key %d, known %v (-want +got):\n%s", want.Key, known, diff)
		}
	}
	for _, key := range []int16{-1, 4, 24, 28, 84, 501, 10001, 32767, -32768} {
		if api, known := table.Lookup(key); known {
			t.Errorf("key %d is known: %v", key, api)
		}
	}
}

func TestMarkdown(t *testing.T) {
	got := NewTable().Markdown()
	for _, want := range []string{
		"| 0 | Produce | 3-13 | 0-13 |\n",
		"| 17 | SaslHandshake | 0-1 | 0-1, where clients authenticate |\n",
		"| 60 | DescribeCluster | 0-2 | 0-2 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "ConsumerGroupHeartbeat") {
		t.Errorf("it lists what is not served:\n%s", got)
	}
	if all := NewTable(ServeAll()).Markdown(); !strings.Contains(all, "| 75 | DescribeTopicPartitions | 0 | 0 |\n") {
		t.Errorf("a single version:\n%s", all)
	}
}
