// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// golden is a body that Kafka's own Java classes have encoded.
type golden struct {
	Key     int16
	Name    string
	Version int16
	Kind    string // request or response
	Fill    Fill
	Header  int8
	Body    string // hex
}

// eachGolden runs a test with the bodies of one kind.
func eachGolden(t testing.TB, kind string, test func(m golden, body []byte)) {
	t.Helper()
	f, err := os.Open("../../testdata/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m golden
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Kind != kind {
			continue
		}
		body, err := hex.DecodeString(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		test(m, body)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// eachVersion runs a test for every API and version that the gateway is to serve.
func eachVersion(test func(api wire.API, version int16)) {
	for _, api := range wire.NewTable(wire.ServeAll()).APIs() {
		for v := api.Min; v <= api.Max; v++ {
			test(api, v)
		}
	}
}

// What is made passes the firewall, and means the same when it is encoded again.
func TestRequestsAreValid(t *testing.T) {
	table := wire.NewTable(wire.ServeAll())
	check := func(what string, req kmsg.Request) {
		t.Helper()
		decoded, err := table.Decode(Frame(req, 7)[4:])
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		if decoded.Header.CorrelationID != 7 || decoded.Header.ClientID == nil || *decoded.Header.ClientID != ClientID {
			t.Errorf("%s v%d: header %+v", what, req.GetVersion(), decoded.Header)
		}
		if diff := cmp.Diff(req.AppendTo(nil), decoded.Body.AppendTo(nil)); diff != "" {
			t.Errorf("%s v%d (-sent +encoded again):\n%s", what, req.GetVersion(), diff)
		}
	}
	eachVersion(func(api wire.API, version int16) {
		for _, fill := range []Fill{Full, Sparse} {
			req, err := Request(api.Key, version, fill)
			if err != nil {
				t.Errorf("%s v%d: %v", api.Name, version, err)
				continue
			}
			check(api.Name+" "+string(fill), req)
		}
		check(api.Name+" harmless", Harmless(api.Key, version, testAbsent()))
	})
	for _, unknown := range [][2]int16{{-1, 0}, {3, -1}, {3, 99}, {32767, 0}} {
		if req, err := Request(unknown[0], unknown[1], Full); err == nil {
			t.Errorf("key %d version %d: %v", unknown[0], unknown[1], req)
		}
	}
}

// A full request has something in every field that Kafka's own full message has something in.
func TestFullRequestsAreFull(t *testing.T) {
	compared := 0
	eachGolden(t, "request", func(m golden, body []byte) {
		ours, err := Request(m.Key, m.Version, Full)
		if err != nil || m.Fill != Full {
			return
		}
		theirs, again := kmsg.RequestForKey(m.Key), kmsg.RequestForKey(m.Key)
		theirs.SetVersion(m.Version)
		again.SetVersion(m.Version)
		if err := errors.Join(theirs.ReadFrom(body), again.ReadFrom(ours.AppendTo(nil))); err != nil {
			t.Fatalf("%s v%d: %v", m.Name, m.Version, err)
		}
		less(t, m.Name, reflect.ValueOf(theirs), reflect.ValueOf(again))
		compared++
	})
	if compared < 150 {
		t.Errorf("only %d requests were compared", compared)
	}
}

// less reports the fields that are set in a and not in b.
func less(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	if a.IsZero() {
		return
	}
	if b.IsZero() {
		t.Errorf("%s is not set", path)
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		less(t, path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			less(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice:
		if a.Len() > 0 && b.Len() > 0 {
			less(t, path+"[0]", a.Index(0), b.Index(0))
		}
	}
}

// The requests that could change something change what is absent, or are to be validated only.
func TestHarmless(t *testing.T) {
	absent := testAbsent()
	for _, key := range []int16{19, 33, 37, 44, 49} {
		req := reflect.ValueOf(Harmless(key, 0, absent)).Elem()
		if !req.FieldByName("ValidateOnly").Bool() {
			t.Errorf("%s is not to be validated only", kmsg.NameForKey(key))
		}
	}
	named := map[string]bool{"Topic": true, "Topics": true, "Group": true, "Groups": true, "ResourceName": true, "TopicNames": true}
	eachVersion(func(api wire.API, version int16) {
		req := Harmless(api.Key, version, absent)
		if req == nil {
			t.Errorf("%s v%d is not known", api.Name, version)
			return
		}
		walkStrings(reflect.ValueOf(req), "", func(field, value string) {
			if named[field] && value != absent.Name {
				t.Errorf("%s v%d: %s is %q", api.Name, version, field, value)
			}
		})
	})
	// Null means all to these.
	if elect := Harmless(43, 2, absent).(*kmsg.ElectLeadersRequest); len(elect.Topics) != 1 {
		t.Error("ElectLeaders would elect all")
	}
	if meta := Harmless(3, 4, absent).(*kmsg.MetadataRequest); meta.AllowAutoTopicCreation {
		t.Error("Metadata would create topics")
	}
	for version := range int16(4) { // in these it always would
		if meta := Harmless(3, version, absent).(*kmsg.MetadataRequest); len(meta.Topics) > 0 {
			t.Errorf("Metadata v%d names topics", version)
		}
	}
	if req := Harmless(32767, 0, absent); req != nil {
		t.Errorf("key 32767: %v", req)
	}
}

func walkStrings(v reflect.Value, field string, visit func(field, value string)) {
	switch v.Kind() {
	case reflect.String:
		visit(field, v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			walkStrings(v.Elem(), field, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkStrings(v.Index(i), field, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walkStrings(v.Field(i), v.Type().Field(i).Name, visit)
		}
	}
}
