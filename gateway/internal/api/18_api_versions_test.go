// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Every version lists what is served, and no features, which would make clients skip the transaction APIs whose
// absence is our refusal.
func TestApiVersions(t *testing.T) {
	c := shared(t).dial(t)
	served := map[int16]string{}
	for _, a := range wire.NewTable().APIs() {
		if a.Advertised() {
			served[a.Key] = fmt.Sprintf("%d-%d", a.AdvertisedMin, a.Max)
		}
	}
	for version := int16(0); version <= 4; version++ {
		got := ask[*kmsg.ApiVersionsResponse](c, apiVersions(version))
		if got.ErrorCode != 0 || len(got.ApiKeys) != len(served) || len(got.SupportedFeatures) != 0 || len(got.FinalizedFeatures) != 0 ||
			got.FinalizedFeaturesEpoch != -1 {
			t.Errorf("v%d: %+v", version, got)
		}
		for _, k := range got.ApiKeys {
			if have := fmt.Sprintf("%d-%d", k.MinVersion, k.MaxVersion); have != served[k.ApiKey] {
				t.Errorf("v%d: %s %s, served %s", version, kmsg.NameForKey(k.ApiKey), have, served[k.ApiKey])
			}
		}
	}
}

// A version above ours is told the range in a form that everyone reads, its body is not looked at, and the connection
// goes on (KIP-511).
func TestApiVersionsAboveMax(t *testing.T) {
	c := shared(t).dial(t)
	frame := []byte{0, 0, 0, 15, 0, 18, 0, 127, 0, 0, 0, 99, 0, 1, 'x', 0xff, 0xff, 0xff, 0xff}
	c.write(frame)
	id, rest := c.readAnswer()
	resp := kmsg.NewPtrApiVersionsResponse()
	decode(c, rest, resp)
	if id != 99 || resp.ErrorCode != codeUnsupportedVersion || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].ApiKey != 18 || resp.ApiKeys[0].MaxVersion != 4 {
		t.Errorf("answer %d: %+v", id, resp)
	}
	if got := ask[*kmsg.ApiVersionsResponse](c, apiVersions(3)); got.ErrorCode != 0 {
		t.Errorf("afterwards: error %d", got.ErrorCode)
	}
}
