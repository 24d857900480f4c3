// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpuOf returns the processor time that a process has used since its start, in user mode and in the kernel.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	return parseStat(stat)
}

// parseStat reads fields 14 and 15 of proc(5), utime and stime. The second field is the program's name in parentheses
// and may contain anything.
func parseStat(stat []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:])) // from the third on
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("bench: /proc/PID/stat is not understood: %q", stat)
	}
	var total time.Duration
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bench: /proc/PID/stat: %w", err)
		}
		total += time.Duration(ticks) * tick
	}
	return total, nil
}

// The lines of /proc/PID/status that are read: memory in use, and the most that was since the start or resetPeak.
const (
	memoryNow  = "VmRSS"
	memoryPeak = "VmHWM"
)

// memoryOf returns bytes of resident memory.
func memoryOf(pid int, line string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	return parseStatus(string(status), line)
}

func parseStatus(status, line string) (int64, error) {
	for text := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(text, line+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("bench: /proc/PID/status: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("bench: /proc/PID/status has no %s", line)
}

// resetPeak makes memoryPeak begin anew at what is in use now (proc(5), clear_refs).
func resetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return nil
}
