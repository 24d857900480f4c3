// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// script is a connection on which a server says what was prepared, whatever it is asked.
type script struct {
	net.Conn
	*bytes.Reader
}

func (s script) Read(p []byte) (int, error)  { return s.Reader.Read(p) }
func (s script) Write(p []byte) (int, error) { return len(p), nil }
func (script) SetDeadline(time.Time) error   { return nil }
func (script) RemoteAddr() net.Addr          { return &net.TCPAddr{} }

// framed is an answer to the request with a number.
func framed(number int32, resp kmsg.Response) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(number))
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		body = append(body, 0)
	}
	body = resp.AppendTo(body)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// FuzzAnswers: whatever a server says, nothing panics, and what a step finds can be printed.
func FuzzAnswers(f *testing.F) {
	versions := kmsg.NewPtrApiVersionsResponse()
	versions.Version = 3
	for _, key := range []int16{3, 17, 18, 36} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, 9
		versions.ApiKeys = append(versions.ApiKeys, k)
	}
	hands, token, metadata := kmsg.NewPtrSASLHandshakeResponse(), kmsg.NewPtrSASLAuthenticateResponse(), kmsg.NewPtrMetadataResponse()
	hands.Version, token.Version, metadata.Version = 1, 2, 9
	metadata.ClusterID = kmsg.StringPtr("cluster")
	metadata.Brokers = append(metadata.Brokers, kmsg.NewMetadataResponseBroker())
	good := bytes.Join([][]byte{framed(1, versions), framed(2, hands), framed(3, token), framed(4, metadata)}, nil)
	f.Add(good)
	f.Add(framed(1, versions))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add([]byte{21, 3, 1, 0, 2, 2, 40})
	f.Add([]byte("\x00\x00\x00\x06\x00\x00\x00\x01\x00\x23"))
	f.Fuzz(func(t *testing.T, said []byte) {
		v := newVisit(&Options{Target: Target{Address: "127.0.0.1:1", User: "ann"}, StepTimeout: time.Minute}, "127.0.0.1:1")
		v.conn = script{Reader: bytes.NewReader(said)}
		v.session = &session{conn: v.conn}
		if err := v.session.greet(t.Context()); err != nil {
			return
		}
		if v.login(t.Context()).Status == Failed {
			return
		}
		if found := v.learn(t.Context()); found.Status == OK && (v.cluster == nil || v.cluster.ClusterID == nil || len(v.cluster.Brokers) == 0) {
			t.Errorf("no cluster: %+v", found)
		}
	})
}
