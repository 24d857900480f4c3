// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// answerFrame puts a response header before a golden body.
func (m golden) answerFrame(body []byte) []byte {
	frame := binary.BigEndian.AppendUint32(nil, 7)
	if m.Header == 1 {
		frame = append(frame, 0)
	}
	return append(frame, body...)
}

// Every answer that Kafka's own classes encode is taken whole, and only whole.
func TestDecodeAnswer(t *testing.T) {
	table := wire.NewTable(wire.ServeAll())
	eachGolden(t, "response", func(m golden, body []byte) {
		if api, known := table.Lookup(m.Key); !known || m.Version > api.Max {
			return
		}
		frame := m.answerFrame(body)
		answer, err := DecodeAnswer(m.Key, m.Version, frame)
		if err != nil {
			t.Errorf("%s v%d %s: %v", m.Name, m.Version, m.Fill, err)
			return
		}
		if answer.CorrelationID != 7 || answer.Body.GetVersion() != m.Version {
			t.Errorf("%s v%d: %+v", m.Name, m.Version, answer)
		}
		for n := range frame {
			if _, err := DecodeAnswer(m.Key, m.Version, frame[:n]); !errors.Is(err, ErrBadAnswer) {
				t.Errorf("%s v%d, %d of %d bytes: %v", m.Name, m.Version, n, len(frame), err)
			}
		}
		for _, more := range []byte{0, 1, 0xff} {
			if _, err := DecodeAnswer(m.Key, m.Version, append(slices.Clone(frame), more)); !errors.Is(err, ErrBadAnswer) {
				t.Errorf("%s v%d and %d: %v", m.Name, m.Version, more, err)
			}
		}
	})
}

func TestDecodeAnswerHeader(t *testing.T) {
	const body = "\x00\x00\x00\x00" + "\x00\x00" + "\x00" // Heartbeat v4: throttle time, error, tagged fields
	tests := []struct {
		name         string
		key, version int16
		frame        string
		err          error
	}{
		{"no tagged fields", 12, 4, "\x00\x00\x00\x07" + "\x00" + body, nil},
		{"two tagged fields", 12, 4, "\x00\x00\x00\x07" + "\x02\x01\x02hi\x03\x00" + body, nil},
		{"tagged fields without end", 12, 4, "\x00\x00\x00\x07" + "\xff\xff\xff\xff\x0f\x00\x00", ErrBadAnswer},
		{"tag cut", 12, 4, "\x00\x00\x00\x07" + "\x01\x01\x7f", ErrBadAnswer},
		{"no count", 12, 4, "\x00\x00\x00\x07", ErrBadAnswer},
		{"half a correlation id", 12, 4, "\x00\x00", ErrBadAnswer},
		{"ApiVersions falls back", 18, 99, "\x00\x00\x00\x07" + "\x00\x23" + "\x00\x00\x00\x00", nil},
		{"ApiVersions falls back, flexible", 18, 3, "\x00\x00\x00\x07" + "\x00\x23" + "\x01\x00\x00\x00\x00\x00", ErrBadAnswer},
		{"unknown key", 32767, 0, "\x00\x00\x00\x07", ErrBadAnswer},
	}
	for _, test := range tests {
		answer, err := DecodeAnswer(test.key, test.version, []byte(test.frame))
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.name, err)
		} else if err == nil && answer.CorrelationID != 7 {
			t.Errorf("%s: %+v", test.name, answer)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	frame := "\x00\x00\x00\x07" +
		"\x00\x00\x00\x02" + // DescribeGroups v0: groups
		"\x00\x45\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x01b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	answer, err := DecodeAnswer(15, 0, []byte(frame))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int16{69}, ErrorCodes(answer.Body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzDecodeAnswer: nothing panics; a refusal says that the answer is bad; what is taken is taken at this length only,
// and again after it is encoded again.
func FuzzDecodeAnswer(f *testing.F) {
	eachGolden(f, "response", func(m golden, body []byte) { f.Add(m.Key, m.Version, m.answerFrame(body)) })
	f.Add(int16(18), int16(99), []byte("\x00\x00\x00\x07\x00\x23\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, key, version int16, frame []byte) {
		if _, err := Request(key, version, Sparse); err != nil && key != apiVersionsKey {
			return
		}
		answer, err := DecodeAnswer(key, version, frame)
		if err != nil {
			if !errors.Is(err, ErrBadAnswer) {
				t.Fatal(err)
			}
			return
		}
		if _, err := DecodeAnswer(key, version, append(frame[:len(frame):len(frame)], 0)); err == nil {
			t.Fatal("taken with a byte behind it too")
		}
		again := binary.BigEndian.AppendUint32(nil, uint32(answer.CorrelationID))
		if answer.Body.IsFlexible() && key != apiVersionsKey {
			again = append(again, 0)
		}
		again = answer.Body.AppendTo(again)
		if _, err := DecodeAnswer(key, version, again); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
	})
}
