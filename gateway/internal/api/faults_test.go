// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// With a broken Iggy from the start, the start ends with an error when its time is over.
func TestFaultFromTheStart(t *testing.T) {
	for _, fault := range []fault{silent, answerGap, cut, garbage, refusing} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			way := newFaulty(t, startIggy(t).Addr().String())
			way.set(fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			b, err := bridge.Open(ctx, bridge.Config{Addr: way.listener.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
			if err == nil {
				b.Close(ctx)
				t.Fatal("opened")
			}
			if took := time.Since(began); took > patience/2 {
				t.Errorf("took %v", took)
			}
		})
	}
}

// timely is by when an answer must have come. What waits for Iggy the longest is a fetch that has something to read, on a
// connection that has worked so far: 10 s.
const timely = 25 * time.Second

// With Iggy broken under way, everything is answered, in time and with errors that clients retry; other requests are
// not held up; and once Iggy is back all works again. What was confirmed is there, each once; what was surely not
// written is not.
func TestFaultUnderWay(t *testing.T) {
	for _, fault := range []fault{silent, answerGap, cut, garbage, refusing} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			iggy := startIggy(t)
			way := newFaulty(t, iggy.Addr().String())
			gw := start(t, setup{iggyAddr: way.listener.Addr().String(), bridge: func(cfg *bridge.Config) {
				cfg.TopicViewAge = time.Millisecond // what is remembered of topics does not hide the fault
			}})
			topic := gw.newTopic(t, 1)
			story := &faultStory{T: t, gw: gw, topic: topic}
			story.write(gw.dial(t))
			parked := gw.dial(t)
			waiting := fetchRequestAt(topic, 1)
			waiting.MaxWaitMillis = 5000
			parked.send(waiting)

			way.set(fault)
			story.during()
			way.set(noFault)
			story.after()

			// The one that waited all along got what came, or an error that it retries.
			if got := onlyPartition(parked, next[*kmsg.FetchResponse](parked)); got.ErrorCode != 0 && got.ErrorCode != codeNotLeader {
				t.Errorf("the waiting fetch: %+v", got)
			}
		})
	}
}

// faultStory keeps count of what was written.
type faultStory struct {
	*testing.T
	gw    *gateway
	topic string

	sent                      int
	confirmed, maybe, refused []string
}

// write sends one record and notes what became of it.
func (s *faultStory) write(c *client) int16 {
	s.Helper()
	s.sent++
	value := fmt.Sprint("value-", s.sent)
	req := produceRequest(part{topic: s.topic, records: batch(value)})
	req.TimeoutMillis = 1000
	got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	switch got.ErrorCode {
	case 0:
		s.confirmed = append(s.confirmed, value)
	case codeTimedOut:
		s.maybe = append(s.maybe, value)
	case codeNotLeader:
		s.refused = append(s.refused, value)
	default:
		s.Errorf("produce: error %d", got.ErrorCode)
	}
	return got.ErrorCode
}

// timed runs a step and insists that it is over in time.
func (s *faultStory) timed(what string, step func(c *client)) {
	s.Helper()
	c := s.gw.dial(s)
	began := time.Now()
	step(c)
	if took := time.Since(began); took > timely {
		s.Errorf("%s: took %v", what, took)
	}
}

func (s *faultStory) during() {
	var together sync.WaitGroup
	defer together.Wait()
	together.Go(func() {
		s.timed("produce", func(c *client) {
			for range 2 {
				s.write(c)
			}
		})
	})
	for offset := range int64(2) { // with data that is known of, and without
		together.Go(func() {
			s.timed(fmt.Sprint("fetch from ", offset), func(c *client) {
				req := fetchRequestAt(s.topic, offset)
				req.MaxWaitMillis = 500
				got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req))
				if got.ErrorCode != 0 && got.ErrorCode != codeNotLeader {
					s.Errorf("fetch: %+v", got)
				}
			})
		})
	}
	together.Go(func() {
		s.timed("metadata", func(c *client) {
			got := ask[*kmsg.MetadataResponse](c, metadataRequest(12, s.topic))
			if code := got.Topics[0].ErrorCode; code != 0 && code != 5 || len(got.Brokers) != 1 {
				s.Errorf("metadata: %+v", got)
			}
		})
	})
	together.Go(func() {
		s.timed("list offsets", func(c *client) {
			req := listOffsetsRequest(10, part{topic: s.topic, timestamp: -1})
			req.TimeoutMillis = 1000
			if code := ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0].ErrorCode; code != 0 && code != codeNotLeader {
				s.Errorf("list offsets: error %d", code)
			}
		})
	})
	together.Go(func() {
		s.timed("create topics", func(c *client) {
			req := createRequest(7, newTopicSpec(newName(), 1, 1))
			req.TimeoutMillis = 1000
			if code := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode; code != 0 && code != codeTimedOut {
				s.Errorf("create topics: error %d", code)
			}
		})
	})
	together.Go(func() {
		s.timed("produce, pipelined", func(c *client) {
			req := produceRequest(part{topic: "missing", records: batch("v")})
			req.TimeoutMillis = 1000
			c.send(req, req, req)
			for range 3 {
				if code := next[*kmsg.ProduceResponse](c).Topics[0].Partitions[0].ErrorCode; code != codeUnknownTopic && code != codeTimedOut && code != codeNotLeader {
					s.Errorf("produce to a missing topic: error %d", code)
				}
			}
		})
	})
	together.Go(func() {
		s.timed("api versions", func(c *client) { ask[*kmsg.ApiVersionsResponse](c, apiVersions(3)) })
	})
}

func (s *faultStory) after() {
	s.Helper()
	c := s.gw.dial(s)
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for s.write(c) != 0 {
		if ctx.Err() != nil {
			s.Fatal("does not write again")
		}
	}
	s.write(c)
	var all []string
	for {
		got := c.fetchOne(part{topic: s.topic})
		if got.ErrorCode == 0 && len(got.RecordBatches) > 0 {
			all = values(c.fetchAll(s.topic, 0))
			break
		}
		if ctx.Err() != nil {
			s.Fatalf("does not read again: %+v", got)
		}
	}
	times := map[string]int{}
	for _, v := range all {
		times[v]++
	}
	for _, v := range s.confirmed {
		if times[v] != 1 {
			s.Errorf("confirmed %s is there %d times", v, times[v])
		}
	}
	for _, v := range s.maybe {
		if times[v] > 1 {
			s.Errorf("%s is there %d times", v, times[v])
		}
	}
	for _, v := range s.refused {
		if times[v] != 0 {
			s.Errorf("%s was refused and is there %d times", v, times[v])
		}
	}
	if got := ask[*kmsg.MetadataResponse](c, metadataRequest(12, s.topic)); got.Topics[0].ErrorCode != 0 {
		s.Errorf("metadata: %v", topicsOf(got))
	}
	name := newName()
	if got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, newTopicSpec(name, 1, 1))); got.Topics[0].ErrorCode != 0 {
		s.Errorf("create topics: %s", created(got, 0))
	}
}
