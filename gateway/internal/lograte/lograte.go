// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package lograte keeps what others can provoke from filling the log.
package lograte

import (
	"sync"
	"time"
)

// Limit lets a few lines of a kind be written each second, and counts those that are left out. The zero Limit lets one. It is safe
// for concurrent use.
type Limit struct {
	Burst int // lines a second; 0: one

	mu     sync.Mutex
	second time.Time // when the running second began
	lines  int       // written in it
	left   int       // left out since the last line
}

// Admit says whether a line may be written now, and how many were left out since the last one.
func (l *Limit) Admit(now time.Time) (left int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Callers look at the clock before they have the lock, so that a moment's step back is none of the clock's.
	if now.Sub(l.second).Abs() >= time.Second {
		l.second, l.lines = now, 0
	}
	if l.lines >= max(l.Burst, 1) {
		l.left++
		return 0, false
	}
	l.lines++
	left, l.left = l.left, 0
	return left, true
}
