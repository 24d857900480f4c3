// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// decodable says whether kmsg knows the request.
func decodable(key, version int16) bool {
	req := kmsg.RequestForKey(key)
	return req != nil && version <= req.MaxVersion()
}

// elementSizes returns, for each array of a body layout in the order of their opening brackets, the size of the Go
// type that kmsg decodes an element into. Layouts do not name fields, so it probes: in a body made from the layout
// every array holds a number of elements of its own, by which the decoded slices are told apart.
func elementSizes(key, version int16, layout string) ([]int64, error) {
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	p := prober{layout: layout}
	body, _ := p.body(0)
	if err := req.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("the layout is not kmsg's: %w", err)
	}
	sizes := make([]int64, strings.Count(layout, "[")+strings.Count(layout, "{"))
	measure(reflect.ValueOf(req).Elem(), sizes)
	for i, size := range sizes {
		if size == 0 {
			return nil, fmt.Errorf("array %d of %s not found in kmsg's type", i, layout)
		}
	}
	return sizes, nil
}

// elements is the number of elements of the i-th array.
func elements(i int) int { return i + 1 }

type prober struct {
	layout string
}

// body encodes the layout from position at to the closing bracket or the end, and returns where it stopped.
func (p *prober) body(at int) (out []byte, end int) {
	for ; at < len(p.layout); at++ {
		switch token := p.layout[at]; token {
		case '1', '2', '4', '8':
			out = append(out, make([]byte, token-'0')...)
		case 'U':
			out = append(out, make([]byte, 16)...)
		case 'S':
			out = append(out, 0, 0)
		case 'B':
			out = append(out, 0, 0, 0, 0)
		case 's', 'b':
			out = append(out, 1)
		case 'T':
			out = append(out, 0)
		case '?':
			out = append(out, 0)
			content, end := p.body(at + 2)
			out, at = append(out, content...), end
		case '[', '{':
			index := strings.Count(p.layout[:at], "[") + strings.Count(p.layout[:at], "{")
			n := elements(index)
			if token == '[' {
				out = binary.BigEndian.AppendUint32(out, uint32(n))
			} else {
				out = binary.AppendUvarint(out, uint64(n+1))
			}
			element, end := p.body(at + 1)
			for range n {
				out = append(out, element...)
			}
			at = end
		case ']', '}', ')':
			return out, at
		}
	}
	return out, at
}

// measure finds the slices in a decoded request and notes their elements' sizes.
func measure(v reflect.Value, sizes []int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			measure(v.Elem(), sizes)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			measure(v.Field(i), sizes)
		}
	case reflect.Slice:
		for i := range sizes {
			if v.Len() == elements(i) {
				sizes[i] = int64(v.Type().Elem().Size())
			}
		}
		for i := range v.Len() {
			measure(v.Index(i), sizes)
		}
	}
}
