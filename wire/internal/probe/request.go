// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ClientID is what the requests made here carry in their headers.
const ClientID = "kafkawire"

// Fill says how much a made request holds.
type Fill string

const (
	Full   Fill = "full"   // every field set, each to something of its own; two elements in every array
	Sparse Fill = "sparse" // defaults, nulls, empty arrays
)

// Request makes a request that is valid by its layout; what it means is nonsense, which a server may well obey.
func Request(key, version int16, fill Fill) (kmsg.Request, error) {
	req := kmsg.RequestForKey(key)
	if req == nil || version < 0 || version > req.MaxVersion() {
		return nil, fmt.Errorf("probe: no request is known of key %d version %d", key, version)
	}
	if fill == Full {
		var f filler
		f.fill(reflect.ValueOf(req).Elem())
	}
	req.SetVersion(version)
	return req, nil
}

// Frame puts length and header before a request.
func Frame(req kmsg.Request, correlationID int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(ClientID)).AppendRequest(nil, req, correlationID)
}

// filler gives every field a value by counting.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[kmsg.Tags]() {
		return // unknown tagged fields are no part of a request
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
		return
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
		return
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			f.fill(v.Index(0))
			f.fill(v.Index(1))
			return
		}
	}
	f.n++
	switch v.Kind() {
	case reflect.Slice:
		v.SetBytes(fmt.Appendf(nil, "b-%d", f.n))
	case reflect.String:
		v.SetString(fmt.Sprintf("s-%d", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(f.n+i) % 256)
		}
	case reflect.Float64:
		v.SetFloat(float64(f.n))
	case reflect.Uint16:
		v.SetUint(uint64(f.n))
	default:
		v.SetInt(int64(f.n) % 128) // fits every size
	}
}
