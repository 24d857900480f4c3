// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// maxShown is how many bytes of a client's id a line has room for.
const maxShown = 128

// noteThrottled says that a client is held to its rate.
func (a *API) noteThrottled(who rated, doing string, throttle time.Duration) {
	if left, ok := a.throttled.Admit(time.Now()); ok {
		a.Logger.Info("a client is above its rate and throttled", "doing", doing, "user", who.user, "client_id", excerpt.Of(who.clientID, maxShown),
			"for", throttle, "suppressed", left)
	}
}

// noteRefusedTimes says that records were refused for their times: mostly that is a producer whose clock is far off, which nobody
// else would look for there.
func (a *API) noteRefusedTimes(no *batchRefusal, batch *recordcodec.Batch, to *batchTarget, now time.Time) {
	if no.code != invalidTimestamp {
		return
	}
	if left, ok := a.wrongTimes.Admit(now); ok {
		latest, _ := batch.MaxTimestamp()
		a.Logger.Warn("records are refused for their times: is a producer's clock off?", "topic", to.topic.Name,
			"partition", to.partition, "latest", time.UnixMilli(latest).UTC(), "now", now.UTC(), "suppressed", left,
			"what_to_do", "have the producers' machines follow a time server (NTP), or change message.timestamp.after.max.ms or message.timestamp.before.max.ms of the topic")
	}
}
