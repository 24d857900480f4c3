// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// A server's loop, without its goroutines and deadlines.
func Example() {
	ask := kmsg.NewPtrApiVersionsRequest()
	ask.Version, ask.ClientSoftwareName, ask.ClientSoftwareVersion = 3, "example", "1.0"
	stream := bytes.NewReader(kmsg.NewRequestFormatter().AppendRequest(nil, ask, 7))

	table := wire.NewTable()
	limits := wire.Limits{MaxFrameSize: 100 << 20, SmallFrameSize: wire.DefaultSmallFrameSize}
	var pool wire.Pool
	reader := bufio.NewReader(stream)
	for {
		p, err := table.ReadPreamble(reader, limits)
		if err != nil {
			fmt.Println(err)
			return
		}
		frame, err := p.ReadFrame(reader, &pool)
		if err != nil {
			fmt.Println(err)
			return
		}
		in, err := table.Inspect(frame.B)
		if err != nil {
			fmt.Println(err)
			return
		}
		// Here a server reserves in.Cost bytes.
		req, err := in.Decode()
		if err != nil {
			fmt.Println(err)
			return
		}
		resp := table.ApiVersions(req.Body.(*kmsg.ApiVersionsRequest))
		answer := wire.AppendResponse(nil, req.Header.CorrelationID, resp)
		frame.Release()
		fmt.Printf("request %d: %d APIs in %d bytes\n", req.Header.CorrelationID, len(resp.ApiKeys), len(answer))
	}
	// Output:
	// request 7: 37 APIs in 275 bytes
	// EOF
}
