// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"html"
	"math"
	"net/url"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

func escaped(s string) string   { return url.QueryEscape(s) }
func unescaped(s string) string { return html.UnescapeString(s) }

func TestFormats(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rate := func(messages float64) overview.Rate {
		return overview.Rate{Known: true, Messages: messages, Bytes: messages}
	}
	for _, tc := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(-1_234_567), "-1,234,567"}, {number(-100), "-100"},
		{number(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{byteSize(0), "0 B"}, {byteSize(1023), "1,023 B"}, {byteSize(1024), "1.0 KiB"}, {byteSize(1536), "1.5 KiB"}, {byteSize(100 << 10), "100 KiB"},
		{byteSize(1<<20 - 1), "1.0 MiB"}, {byteSize(99<<30 + 1<<29), "99.5 GiB"}, {byteSize(math.MaxInt64), "8.0 EiB"},
		{perSecond(overview.Rate{}), "–"}, {perSecond(rate(0)), "0"}, {perSecond(rate(0.04)), "0.0"}, {perSecond(rate(12.34)), "12.3"}, {perSecond(rate(12345.6)), "12,346"},
		{bytesPerSecond(overview.Rate{}), "–"}, {bytesPerSecond(rate(2048)), "2.0 KiB/s"},
		{span(-time.Second), "0 s"}, {span(59 * time.Second), "59 s"}, {span(time.Minute), "1 min 0 s"}, {span(59*time.Minute + 59*time.Second + 600*time.Millisecond), "1 h 0 min"},
		{span(25 * time.Hour), "1 d 1 h"}, {span(100_000 * time.Hour), "4,166 d 16 h"},
		{ago(now, now), "now"}, {ago(now, now.Add(time.Hour)), "now"}, {ago(now, now.Add(-90*time.Second)), "1 min 30 s ago"},
		{stamp(now), "2026-01-02T03:04:05Z"}, {clock(now.In(time.FixedZone("", 3600))), "03:04:05 UTC"}, {day(now), "2026-01-02 03:04:05 UTC"},
		{plural(1, "topic", "topics"), "1 topic"}, {plural(1000, "topic", "topics"), "1,000 topics"},
		{ranges(nil), ""}, {ranges([]int32{4}), "4"}, {ranges([]int32{0, 1, 2, 5, 7, 8}), "0–2, 5, 7–8"}, {ranges([]int32{1, 1}), "1, 1"},
		{retention(iggywire.NeverExpire), "for ever"}, {retention(iggywire.ServerDefault), "as Iggy is set up"}, {retention(uint64(time.Hour / time.Microsecond)), "for 1 h 0 min"},
		{retention(math.MaxUint64 - 1), "for 104,249 d 23 h"},
		{limit(iggywire.UnlimitedSize), "unlimited"}, {limit(iggywire.ServerDefault), "as Iggy is set up"}, {limit(5 << 30), "5.0 GiB"},
		{versions(0, 12), "0–12"}, {versions(3, 3), "3"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
	if _, err := anyNumber("x"); err == nil {
		t.Error("a word is taken for a number")
	}
}
