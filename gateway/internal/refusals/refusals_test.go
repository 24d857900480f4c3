// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package refusals

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

const illegalSaslState = 34

// golden is what Kafka 4.1's request classes answer to a request, full of everything that its version may have, in
// getErrorResponse(0, new IllegalSaslStateException).
type golden struct {
	Key             int16
	Name            string
	Version         int16
	Request, Answer string // bodies, in hex
}

// Every version of every API has its codes where Kafka has them, at the names of what they are about. Texts, and numbers that are
// no use beside a code, are our own.
func TestAsKafka(t *testing.T) {
	tried := map[int16]map[int16]bool{}
	for _, g := range goldens(t) {
		t.Run(fmt.Sprintf("%s-v%d", g.Name, g.Version), func(t *testing.T) {
			req := kmsg.RequestForKey(g.Key)
			req.SetVersion(g.Version)
			read(t, req, g.Request)
			kafka, ours := req.ResponseKind(), req.ResponseKind()
			read(t, kafka, g.Answer)
			if err := ours.ReadFrom(Of(req, illegalSaslState).AppendTo(nil)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(codes(kafka), codes(ours)); diff != "" {
				t.Errorf("-kafka +ours:\n%s", diff)
			}
		})
		if tried[g.Key] == nil {
			tried[g.Key] = map[int16]bool{}
		}
		tried[g.Key][g.Version] = true
	}
	for _, api := range wire.NewTable().APIs() {
		for v := api.Min; v <= api.Max; v++ {
			if api.Served && !tried[api.Key][v] {
				t.Errorf("%s v%d is not tried", api.Name, v)
			}
		}
	}
}

func goldens(t *testing.T) (all []golden) {
	t.Helper()
	text, err := os.ReadFile("testdata/illegal_sasl_state.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var g golden
		if err := d.Decode(&g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

func read(t *testing.T, into interface{ ReadFrom([]byte) error }, text string) {
	t.Helper()
	body, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := into.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
}

// codes lists what has an error code and which, by name and in no particular order. Of what has one itself the parts are left out:
// nobody looks there.
func codes(resp kmsg.Response) []string {
	var lines []string
	collect(reflect.ValueOf(resp).Elem(), "", &lines)
	slices.Sort(lines)
	return lines
}

func collect(v reflect.Value, path string, lines *[]string) {
	var names []string
	for i := range v.NumField() {
		switch name, f := v.Type().Field(i).Name, v.Field(i); {
		case strings.HasSuffix(name, "Message") || name == "Version":
		case f.Kind() == reflect.String && f.String() != "":
			names = append(names, name+"="+f.String())
		case f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.String && !f.IsNil() && f.Elem().String() != "":
			names = append(names, name+"="+f.Elem().String())
		case f.Kind() == reflect.Array && !f.IsZero():
			names = append(names, fmt.Sprint(name, "=", f.Interface()))
		case name == "Partition":
			names = append(names, fmt.Sprint(name, "=", f.Interface()))
		}
	}
	path += "{" + strings.Join(names, " ") + "}"
	if code := v.FieldByName("ErrorCode"); code.IsValid() && code.Int() != 0 {
		*lines = append(*lines, fmt.Sprintf("%s: %d", path, code.Int()))
		return
	}
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct {
			for j := range f.Len() {
				collect(f.Index(j), path+"."+v.Type().Field(i).Name, lines)
			}
		}
	}
}
