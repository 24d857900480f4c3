// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

func TestEffective(t *testing.T) {
	type change func(*Effective)
	for _, tc := range []struct {
		settings map[string]string
		want     change
	}{
		{nil, func(*Effective) {}},
		{map[string]string{"segment.ms": "1", "compression.type": "producer", "message.timestamp.type": "CreateTime"}, func(*Effective) {}},
		{map[string]string{"max.message.bytes": "51200"}, func(e *Effective) { e.MaxMessageBytes = 51200 }},
		{map[string]string{"max.message.bytes": " 0 "}, func(e *Effective) { e.MaxMessageBytes = 0 }},
		{map[string]string{"message.timestamp.type": " LogAppendTime "}, func(e *Effective) { e.LogAppendTime = true }},
		{map[string]string{"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "9223372036854775807"},
			func(e *Effective) { e.TimestampBeforeMax, e.TimestampAfterMax = 1000, math.MaxInt64 }},
		{map[string]string{"cleanup.policy": "compact"}, func(e *Effective) { e.Compact, e.Delete = true, false }},
		{map[string]string{"cleanup.policy": "compact, delete"}, func(e *Effective) { e.Compact = true }},
		{map[string]string{"cleanup.policy": "delete"}, func(*Effective) {}},
		{map[string]string{"cleanup.policy": ""}, func(e *Effective) { e.Delete = false }},
		{map[string]string{"compression.type": "uncompressed"}, func(e *Effective) { e.ownCodec = true }},
		{map[string]string{"compression.type": "zstd"}, func(e *Effective) { e.codec, e.ownCodec = recordcodec.CodecZstd, true }},
		{map[string]string{"compression.type": "brotli", "max.message.bytes": "much"}, func(*Effective) {}},
	} {
		want := Default()
		tc.want(&want)
		if diff := cmp.Diff(want, NewEffective(tc.settings), cmp.AllowUnexported(Effective{})); diff != "" {
			t.Errorf("%v: %s", tc.settings, diff)
		}
	}
}

// The defaults are those that the table of all settings lists.
func TestDefaultsAgree(t *testing.T) {
	settings := map[string]string{}
	for _, k := range Keys() {
		settings[k.Name] = k.Default
	}
	if diff := cmp.Diff(Default(), NewEffective(settings), cmp.AllowUnexported(Effective{})); diff != "" {
		t.Error(diff)
	}
}

func TestCodec(t *testing.T) {
	for word, want := range map[string]recordcodec.Codec{
		"producer": recordcodec.CodecLZ4, "uncompressed": recordcodec.CodecNone, "gzip": recordcodec.CodecGzip,
		"snappy": recordcodec.CodecSnappy, "lz4": recordcodec.CodecLZ4, "zstd": recordcodec.CodecZstd,
	} {
		e := NewEffective(map[string]string{"compression.type": word})
		if got := e.Codec(recordcodec.CodecLZ4); got != want {
			t.Errorf("%s: %v, want %v", word, got, want)
		}
	}
}
