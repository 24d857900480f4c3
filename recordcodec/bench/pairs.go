// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// A side does its work on one batch and returns the bytes of record values that it came across.
type side interface {
	run() (valueBytes int, err error)
}

// line is one line of the table: the same work, or more of it, beside a peer's.
type line struct {
	operation string
	codec     fmt.Stringer
	ours      side
	peerName  string
	peer      side
}

func (l line) name() string { return fmt.Sprintf("%s/%v/%s", l.operation, l.codec, l.peerName) }

// sample is what one batch costs; nanos is processor time.
type sample struct {
	nanos, bytes, allocs float64
}

// processorTime is what the process has used so far, its garbage collector included. On a machine with other work it says
// more than the wall clock.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

func measure(s side, batches int) (sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin, err := processorTime()
	if err != nil {
		return sample{}, err
	}
	for range batches {
		if _, err := s.run(); err != nil {
			return sample{}, err
		}
	}
	end, err := processorTime()
	if err != nil {
		return sample{}, err
	}
	runtime.ReadMemStats(&after)
	n := float64(batches)
	return sample{
		nanos:  float64(end-begin) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n,
	}, nil
}

// calibrate warms s up, checks that it sees every value, and returns how many batches take about so long.
func calibrate(s side, length time.Duration) (batches int, err error) {
	total, err := s.run()
	if err != nil {
		return 0, err
	}
	if total != records*valueSize {
		return 0, fmt.Errorf("%d bytes of values, not %d", total, records*valueSize)
	}
	for batches = 1; ; batches *= 2 {
		got, err := measure(s, batches)
		if err != nil {
			return 0, err
		}
		if took := got.nanos * float64(batches); took > float64(length)/2 {
			return max(1, int(float64(length)/got.nanos)), nil
		}
	}
}

// pair is a sample of each side, taken one right after the other.
type pair struct{ ours, peer sample }

// series are the pairs of one line.
type series []pair

// measure takes the pairs; who comes first alternates.
func (l line) measure(pairs int, length time.Duration) (series, error) {
	var s series
	ours, err := calibrate(l.ours, length)
	if err != nil {
		return nil, err
	}
	peers, err := calibrate(l.peer, length)
	if err != nil {
		return nil, err
	}
	for i := range pairs {
		var p pair
		steps := []func() error{
			func() (err error) { p.ours, err = measure(l.ours, ours); return err },
			func() (err error) { p.peer, err = measure(l.peer, peers); return err },
		}
		if i%2 == 1 {
			slices.Reverse(steps)
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return nil, err
			}
		}
		s = append(s, p)
	}
	return s, nil
}

// ours are the columns of our side.
func (s series) ours() string { return s.columns(func(p pair) sample { return p.ours }) }

// peers are the columns of the peer's side.
func (s series) peers() string { return s.columns(func(p pair) sample { return p.peer }) }

func (s series) columns(of func(pair) sample) string {
	column := func(f func(sample) float64) float64 {
		m, _, _ := spread(s, func(p pair) float64 { return f(of(p)) })
		return m
	}
	return fmt.Sprintf("%.1f\t%.0f\t%.0f",
		column(func(x sample) float64 { return x.nanos })/records,
		column(func(x sample) float64 { return x.bytes }),
		column(func(x sample) float64 { return x.allocs }))
}

// ratio says how many times as fast as the peer we are: median, least and most of all pairs.
func (s series) ratio() string {
	median, least, most := spread(s, func(p pair) float64 { return p.peer.nanos / p.ours.nanos })
	return fmt.Sprintf("%.2f (%.2f - %.2f)", median, least, most)
}

// spread is the median, the least and the most of f over s, which must not be empty.
func spread(s series, f func(pair) float64) (median, least, most float64) {
	var values []float64
	for _, p := range s {
		values = append(values, f(p))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]
}
