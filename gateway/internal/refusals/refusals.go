// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package refusals answers any request with one error code, in the shape that its API has for it: what Kafka's request classes
// do in getErrorResponse.
package refusals

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Of answers req with a code: at the top where the answer has one there, and for each thing that the request names where the
// answer has one for each. An answer names things by the same fields as its request does, with few exceptions (renamed), so
// reflection finds them. It costs about what the request has cost to decode.
func Of(req kmsg.Request, code int16) kmsg.Response {
	resp := req.ResponseKind()
	answer(reflect.ValueOf(resp).Elem(), reflect.ValueOf(req).Elem(), code)
	return resp
}

// answer puts the code into a part of a response, and the parts of that for which the request has some.
func answer(resp, req reflect.Value, code int16) {
	for i := range resp.NumField() {
		name, field := resp.Type().Field(i).Name, resp.Field(i)
		if name == "ErrorCode" {
			field.SetInt(int64(code))
		} else if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct {
			if asked := source(req, name); asked.IsValid() {
				field.Set(each(field.Type(), asked, code))
			}
		}
	}
}

// source is the field of a request that a field of its response repeats; not valid: there is none.
func source(req reflect.Value, name string) reflect.Value {
	field := req.FieldByName(name)
	if old := req.FieldByName(renamed(name)); old.IsValid() && old.Len() > 0 {
		return old
	}
	return field
}

// renamed is what requests call a response's field where the two differ; empty: nothing else.
func renamed(name string) string {
	switch name {
	case "Topics":
		return "TopicNames" // DeleteTopics to v5
	case "Coordinators":
		return "CoordinatorKeys"
	case "TransactionStates":
		return "TransactionalIDs"
	}
	return ""
}

// each makes a slice that has an element for each of asked.
func each(as reflect.Type, asked reflect.Value, code int16) reflect.Value {
	out := reflect.MakeSlice(as, asked.Len(), asked.Len())
	for i := range asked.Len() {
		elem, of := out.Index(i), asked.Index(i)
		if d, ok := elem.Addr().Interface().(interface{ Default() }); ok {
			d.Default()
		}
		if of.Kind() == reflect.Struct {
			copyNames(elem, of)
			answer(elem, of, code)
		} else {
			name(elem, of)
			answer(elem, reflect.ValueOf(struct{}{}), code)
		}
	}
	return out
}

// copyNames copies what an element of a response has in common with that of its request, but for what each has further
// elements of.
func copyNames(elem, of reflect.Value) {
	for i := range elem.NumField() {
		field, asked := elem.Field(i), of.FieldByName(elem.Type().Field(i).Name)
		switch {
		case !asked.IsValid() || field.Kind() == reflect.Slice:
		case asked.Type() == field.Type():
			field.Set(asked)
		case reflect.PointerTo(asked.Type()) == field.Type():
			field.Set(asked.Addr())
		}
	}
}

// name puts what a request names without a structure, by a string or a number, where an element of its response names it.
func name(elem, as reflect.Value) {
	for i := range elem.NumField() {
		switch field := elem.Field(i); {
		case elem.Type().Field(i).Name == "ErrorMessage":
		case field.Type() == as.Type():
			field.Set(as)
			return
		case field.Type() == reflect.PointerTo(as.Type()):
			field.Set(as.Addr())
			return
		}
	}
}
