// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Messages is the answer to one poll. The bytes live until Release, which its receiver calls once.
type Messages struct {
	Messages []byte // in Iggy's wire form, one after another
	Count    int
	Current  int64 // the offset of the partition's last message; 0 also when there is none
	ans      answer
}

// Release gives the bytes back.
func (m *Messages) Release() { m.ans.release() }

// Read polls up to count messages of a partition from offset on, as s's user. There is no byte limit in Iggy's
// protocol: count is the caller's to size. When the answer is larger than Config.MaxAnswerSize, fewer are asked for.
func (b *Bridge) Read(ctx context.Context, s *Session, t *Topic, partition int32, offset int64, count int) (Messages, error) {
	asked := time.Now()
	for n := max(count, 1); ; n = max(n/8, 1) {
		m, err := b.poll(ctx, s, pollRequest(t.Iggy, partition, iggywire.PollOffset, uint64(offset), uint32(n)))
		if errors.Is(err, ErrAnswerTooLarge) && n > 1 {
			continue
		}
		if err == nil && (m.Count > 0 || m.Current > 0) {
			b.states.of(t).read(partition, m.Current+1, int64(len(m.Messages)/max(m.Count, 1)), asked)
		}
		return m, err
	}
}

// poll runs one poll and opens its answer.
func (b *Bridge) poll(ctx context.Context, s *Session, req iggywire.Poll) (Messages, error) {
	a, err := ask(ctx, s.reads, req, true)
	if err != nil {
		return Messages{}, err
	}
	return openPoll(a)
}

func openPoll(a answer) (Messages, error) {
	res, err := iggywire.ParsePollResult(a.bytes())
	if err != nil {
		a.release()
		return Messages{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return Messages{Messages: res.Messages, Count: int(res.Count), Current: int64(res.CurrentOffset), ans: a}, nil
}
