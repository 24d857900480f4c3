// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestListConfigResources(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	gw.createTopic(t, "b", 1)
	gw.createTopic(t, "a", 1)
	list := func(version int16, types ...int8) string {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = version, types
		got := ask[*kmsg.ListConfigResourcesResponse](c, req)
		short := fmt.Sprint(got.ErrorCode)
		for _, r := range got.ConfigResources {
			short += fmt.Sprintf(" %d/%s", r.Type, r.Name)
		}
		return short
	}
	const topics = " 2/" + stateTopic + " 2/a 2/b"
	for _, tc := range []struct {
		types []int8
		want  string
	}{
		{nil, "0 4/1" + topics}, {[]int8{2}, "0" + topics}, {[]int8{4}, "0 4/1"}, {[]int8{2, 4, 2}, "0 4/1" + topics},
		{[]int8{8}, "0"}, {[]int8{16}, "0"}, {[]int8{32}, "0"}, {[]int8{3}, "35"}, {[]int8{2, 0}, "35"},
	} {
		if got := list(1, tc.types...); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.types, got, tc.want)
		}
	}
	if got := list(0); got != "0" { // only subscriptions to client metrics
		t.Errorf("v0: %s", got)
	}
}
