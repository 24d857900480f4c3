// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// StartProxy starts a proxy in front of a broker: keys are those of APIs. What tells the broker's address tells the
// proxy's, so that clients stay with it. Produce without acks, which has no answer, is none for it.
func StartProxy(broker string, fate func(key int16, n int) Fate) (*Proxy, error) {
	return start(broker, kafkaFrames{}, fate)
}

// kafkaFrames is Kafka's protocol.
type kafkaFrames struct{}

func (kafkaFrames) request(from io.Reader) (frame []byte, key, version int16, err error) {
	const shortest = 12 // length, key, version, correlation id
	frame, err = readSized(from, 4, binary.BigEndian.Uint32)
	if err != nil {
		return nil, 0, 0, err
	}
	if len(frame) < shortest {
		return nil, 0, 0, fmt.Errorf("clients: a request of %d bytes", len(frame))
	}
	return frame, int16(binary.BigEndian.Uint16(frame[4:])), int16(binary.BigEndian.Uint16(frame[6:])), nil
}

func (kafkaFrames) answer(from io.Reader, key, version int16, proxy *net.TCPAddr) ([]byte, error) {
	frame, err := readSized(from, 4, binary.BigEndian.Uint32)
	if err != nil {
		return nil, err
	}
	resp := kmsg.ResponseForKey(key)
	switch resp.(type) {
	case *kmsg.MetadataResponse, *kmsg.FindCoordinatorResponse, *kmsg.DescribeClusterResponse:
	default:
		return frame, nil
	}
	resp.SetVersion(version)
	header := 8 // length, correlation id
	if resp.IsFlexible() {
		header++ // no tagged fields
	}
	if err := resp.ReadFrom(frame[header:]); err != nil {
		return nil, fmt.Errorf("clients: decoding an answer: %w", err)
	}
	readdress(resp, proxy.IP.String(), int32(proxy.Port))
	frame = resp.AppendTo(frame[:header:header])
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame, nil
}

// readdress puts one address in the place of all.
func readdress(resp kmsg.Response, host string, port int32) {
	switch resp := resp.(type) {
	case *kmsg.MetadataResponse:
		for i := range resp.Brokers {
			resp.Brokers[i].Host, resp.Brokers[i].Port = host, port
		}
	case *kmsg.FindCoordinatorResponse:
		resp.Host, resp.Port = host, port
		for i := range resp.Coordinators {
			resp.Coordinators[i].Host, resp.Coordinators[i].Port = host, port
		}
	case *kmsg.DescribeClusterResponse:
		for i := range resp.Brokers {
			resp.Brokers[i].Host, resp.Brokers[i].Port = host, port
		}
	}
}
