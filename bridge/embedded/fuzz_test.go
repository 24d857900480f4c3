// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// FuzzSession gives a logged-in session any bytes. It must not panic, must end
// when the peer does, and whatever it answers must be whole frames.
func FuzzSession(f *testing.F) {
	all := []byte(nil)
	for _, e := range readTranscript(f) {
		frame := append(iggywire.AppendRequestHeader(nil, e.Code, len(e.Request)), e.Request...)
		f.Add(frame)
		if e.Scenario == "topics" || e.Scenario == "messages" {
			all = append(all, frame...)
		}
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, requests []byte) {
		s := &Server{
			cfg:      Config{InMemory: true, MaxSendSize: 1 << 20, IOTimeout: time.Minute}.withDefaults(),
			store:    memoryStore{},
			now:      func() uint64 { return 1 },
			newID:    func() [16]byte { return [16]byte{1} },
			sessions: make(map[uint32]*session),
		}
		if err := s.load(); err != nil {
			t.Fatal(err)
		}
		peer, conn := net.Pipe()
		session := newSession(s, conn, 1)
		var running sync.WaitGroup
		running.Go(session.run)
		running.Go(func() {
			for {
				if _, _, err := readAnswer(peer); err != nil {
					if err != io.EOF && err != io.ErrClosedPipe {
						t.Errorf("answer: %v", err)
					}
					return
				}
			}
		})
		login := iggywire.AppendFrame(nil, iggywire.LoginUser{Username: "iggy", Password: "iggy"})
		stream := iggywire.AppendFrame(nil, iggywire.CreateStream{Name: "kafka"})
		topic := iggywire.AppendFrame(nil, iggywire.CreateTopic{
			Stream: iggywire.NamedID("kafka"), Name: "orders", Partitions: 3, Compression: iggywire.CompressionNone,
		})
		for _, b := range [][]byte{login, stream, topic, requests} {
			if _, err := peer.Write(b); err != nil {
				break // the session ended first
			}
		}
		peer.Close()
		running.Wait()
	})
}
