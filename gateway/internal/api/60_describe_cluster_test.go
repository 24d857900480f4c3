// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every version names the cluster and this broker, as Metadata does; controllers are not to be asked here.
func TestDescribeCluster(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for version := int16(0); version <= 2; version++ {
		for _, asked := range []bool{false, true} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version, req.IncludeClusterAuthorizedOperations, req.EndpointType = version, asked, 1
			got := ask[*kmsg.DescribeClusterResponse](c, req)
			operations := map[bool]int32{false: notAsked, true: 8096}[asked]
			if got.ErrorCode != 0 || got.ErrorMessage != nil || got.ClusterID != gw.bridge.ClusterID() || got.ControllerID != nodeID ||
				got.ClusterAuthorizedOperations != operations || len(got.Brokers) != 1 {
				t.Fatalf("v%d: %+v", version, got)
			}
			if b := got.Brokers[0]; b.NodeID != nodeID || b.Host != advertised || b.Port != gw.port || b.Rack != nil || b.IsFenced {
				t.Errorf("v%d: %+v", version, b)
			}
		}
		for kind, code := range map[int8]int16{2: 114, 3: 115, 0: 115} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version, req.EndpointType = version, kind
			got := ask[*kmsg.DescribeClusterResponse](c, req)
			if version == 0 {
				code = 0 // has no such field
			}
			if got.ErrorCode != code || (len(got.Brokers) == 0) != (code != 0) || (got.ErrorMessage == nil) != (code == 0) {
				t.Errorf("v%d, endpoints %d: %+v", version, kind, got)
			}
		}
	}
}
