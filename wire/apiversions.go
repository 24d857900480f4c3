// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/twmb/franz-go/pkg/kmsg"

const (
	apiVersionsKey = 18

	unsupportedVersion = 35 // UNSUPPORTED_VERSION
	invalidRequest     = 42 // INVALID_REQUEST
)

// ApiVersions answers an ApiVersions request, also one that is Request.AboveMax.
//
// A version above ours gets a v0 body with error 35 and the range of this one API, from which the client falls back
// on the same connection (KIP-511). From v3 on the client names its software; a name or version outside Kafka's
// pattern gets error 42 and an empty list.
//
// No features are listed, finalized or supported: clients that see transaction.version 2 there would skip the
// transaction APIs whose absence is our refusal (KIP-890).
func (t *Table) ApiVersions(req *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = req.Version
	own, _ := t.Lookup(apiVersionsKey)
	switch {
	case req.Version > own.Max:
		resp.Version = 0
		resp.ErrorCode = unsupportedVersion
		resp.ApiKeys = append(resp.ApiKeys, advertised(own))
	case req.Version >= 3 && !(isSoftwareName(req.ClientSoftwareName) && isSoftwareName(req.ClientSoftwareVersion)):
		resp.ErrorCode = invalidRequest
	default:
		for _, api := range t.APIs() {
			if api.Advertised() {
				resp.ApiKeys = append(resp.ApiKeys, advertised(api))
			}
		}
	}
	return resp
}

func advertised(api API) kmsg.ApiVersionsResponseApiKey {
	row := kmsg.NewApiVersionsResponseApiKey()
	row.ApiKey, row.MinVersion, row.MaxVersion = api.Key, api.AdvertisedMin, api.Max
	return row
}

// isSoftwareName says whether s matches [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?, as Kafka's ApiVersionsRequest
// demands of a client's software name and version.
func isSoftwareName(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		inner := (c == '-' || c == '.') && 0 < i && i < len(s)-1
		if !alnum && !inner {
			return false
		}
	}
	return s != ""
}
