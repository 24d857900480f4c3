// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// countedLog is a rareLog whose lines say how many were left out before them.
type countedLog struct {
	rareLog
	left atomic.Int64
}

// admit says whether a line may be written now, and how many were left out since the last one.
func (l *countedLog) admit(now time.Time) (left int64, ok bool) {
	if !l.allow(now) {
		l.left.Add(1)
		return 0, false
	}
	return l.left.Swap(0), true
}

// noteThrottled says that a client is held to its rate.
func (a *API) noteThrottled(who rated, doing string, throttle time.Duration) {
	if left, ok := a.throttled.admit(time.Now()); ok {
		a.Logger.Info("a client is above its rate and throttled", "doing", doing, "user", who.user, "client_id", bounded(who.clientID),
			"for", throttle, "suppressed", left)
	}
}

// noteRefusedTimes says that records were refused for their times: mostly that is a producer whose clock is far off, which nobody
// else would look for there.
func (a *API) noteRefusedTimes(no *batchRefusal, batch *recordcodec.Batch, to *batchTarget, now time.Time) {
	if no.code != invalidTimestamp {
		return
	}
	if left, ok := a.wrongTimes.admit(now); ok {
		latest, _ := batch.MaxTimestamp()
		a.Logger.Warn("records are refused for their times: is a producer's clock off?", "topic", to.topic.Name,
			"partition", to.partition, "latest", time.UnixMilli(latest).UTC(), "now", now.UTC(), "suppressed", left,
			"what_to_do", "have the producers' machines follow a time server (NTP), or change message.timestamp.after.max.ms or message.timestamp.before.max.ms of the topic")
	}
}

// bounded is a client's text as far as a line has room for it.
func bounded(text string) string {
	const most = 128
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
