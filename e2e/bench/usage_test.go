// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const stat = "4242 (a) b (c) S 1 4242 4242 0 -1 4194560 1520 0 0 0 123 45 7 8 20 0 9 0 1234567 1720000000 16000 18446744073709551615"
	if got, err := parseStat([]byte(stat)); err != nil || got != (123+45)*10*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2 3", "1 x S 1 1 1 0 -1 0 0 0 0 0 1 2 0", "1 (x) S 1 1 1 0 -1 0 0 0 0 0 one 2 0"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const status = "Name:\tgateway\nVmPeak:\t 2000000 kB\nVmHWM:\t   71234 kB\nVmRSS:\t   65432 kB\n"
	if got, err := parseStatus(status, memoryPeak); err != nil || got != 71234<<10 {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := parseStatus(status, memoryNow); err != nil || got != 65432<<10 {
		t.Errorf("%d, %v", got, err)
	}
	for _, bad := range []string{"", "VmRSS:\tx kB\n"} {
		if got, err := parseStatus(bad, memoryNow); err == nil {
			t.Errorf("%q: %d", bad, got)
		}
	}
}

// TestUsage reads what Linux says about this process.
func TestUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	pid := os.Getpid()
	if err := resetPeak(pid); err != nil {
		t.Error(err)
	}
	peak, err := memoryOf(pid, memoryPeak)
	if err != nil || peak < 1<<20 {
		t.Errorf("peak %d, %v", peak, err)
	}
	if _, err := cpuOf(pid); err != nil {
		t.Error(err)
	}
}
