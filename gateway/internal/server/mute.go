// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// Mute keeps the connection from being read for d from now on, longer if it is muted for longer already: what a client sends
// meanwhile is not begun (KIP-219). Requests that were begun are answered. It costs the connection nothing of its idle time.
func (c *Conn) Mute(d time.Duration) {
	until := int64(time.Since(c.opened) + d)
	for {
		old := c.muted.Load()
		if old >= until || c.muted.CompareAndSwap(old, until) {
			return
		}
	}
}

// mutedUntil is in the past, or the moment at which the connection was opened, unless it is muted.
func (c *Conn) mutedUntil() time.Time { return c.opened.Add(time.Duration(c.muted.Load())) }

// awaitUnmuted waits, with a request's preamble read and no more, until the connection may be used again. Until a request comes the
// reader waits for it, muted or not, and so sees that the peer has gone; what came from a peer that has gone is served all the
// same, in its time, as on a broker.
func (c *Conn) awaitUnmuted() closing {
	for c.muted.Load() > 0 {
		wait := time.Until(c.mutedUntil())
		if wait <= 0 {
			return closing{}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C: // it may have been muted for longer since
		case <-c.stopping: // also when the connection was closed elsewhere, for a reason that is known there
			timer.Stop()
			return closing{cause: Shutdown}
		}
	}
	return closing{}
}
