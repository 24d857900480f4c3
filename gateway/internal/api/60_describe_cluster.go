// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeCluster (60), v0-2.
//
// v1: endpoint type, brokers or controllers (KIP-919). v2: fenced brokers (KIP-1073), of which there are none.

const (
	endpointBrokers     = 1
	endpointControllers = 2

	mismatchedEndpointType  int16 = 114
	unsupportedEndpointType int16 = 115
)

func (a *API) describeCluster(ctx context.Context, conn *server.Conn, req *kmsg.DescribeClusterRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.Version = req.Version
	resp.EndpointType = endpointBrokers
	resp.ControllerID = -1
	resp.ClusterAuthorizedOperations = operationsNotAsked
	if req.Version >= 1 && req.EndpointType != endpointBrokers {
		if req.EndpointType == endpointControllers {
			resp.ErrorCode = mismatchedEndpointType
			resp.ErrorMessage = message("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
		} else {
			resp.ErrorCode = unsupportedEndpointType
			resp.ErrorMessage = message("Unsupported endpoint type %d", req.EndpointType)
		}
		return resp, nil
	}
	resp.ClusterID = a.ClusterID
	resp.ControllerID = a.NodeID
	if req.IncludeClusterAuthorizedOperations {
		access, err := a.access(ctx, conn)
		if err != nil { // to say that nothing is allowed would be a lie; a closed connection is retried
			return nil, err
		}
		resp.ClusterAuthorizedOperations = int32(access.ClusterOperations())
	}
	broker := kmsg.NewDescribeClusterResponseBroker()
	broker.NodeID, broker.Host, broker.Port = a.NodeID, conn.AdvertisedHost(), conn.AdvertisedPort()
	resp.Brokers = append(resp.Brokers, broker)
	return resp, nil
}
