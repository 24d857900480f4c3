// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Op is how a client changes a setting, numbered as IncrementalAlterConfigs does (KIP-339).
type Op int8

// What can be done to a setting.
const (
	Set      Op = 0
	Delete   Op = 1
	Append   Op = 2 // to a list: members that it does not have yet
	Subtract Op = 3 // from a list
)

func (o Op) String() string {
	switch o {
	case Set:
		return "SET"
	case Delete:
		return "DELETE"
	case Append:
		return "APPEND"
	case Subtract:
		return "SUBTRACT"
	default:
		return fmt.Sprintf("Op(%d)", int8(o))
	}
}

// Change is one change of a setting.
type Change struct {
	Name  string
	Op    Op
	Value string
}

// Apply returns what a topic's own settings are after some changes, which name each setting once. Whether the result is
// valid is Validate's to say; the error here is an *Error, or ErrUnknownOp.
func (t *Table) Apply(own map[string]string, changes []Change) (map[string]string, error) {
	result := maps.Clone(own)
	if result == nil {
		result = map[string]string{}
	}
	for _, c := range changes {
		switch c.Op {
		case Set:
			result[c.Name] = c.Value
		case Delete:
			delete(result, c.Name)
		case Append, Subtract:
			key := t.byName[c.Name]
			if key == nil || key.Type != List {
				return nil, &Error{fmt.Sprintf("Can't %v to key %s because its type is not LIST.", c.Op, c.Name)}
			}
			value, set := own[c.Name]
			if !set {
				value = key.Default
			}
			result[c.Name] = combine(c.Op, value, c.Value)
		default:
			return nil, fmt.Errorf("%w: %v", ErrUnknownOp, c.Op)
		}
	}
	return result, nil
}

// combine appends members to a list or takes them out, each once, as ConfigurationControlManager does: it drops empty
// members of the list and leaves blanks where they are; of what comes to it, it does not see commas at the end (Java's String.split).
func combine(op Op, list, members string) string {
	parts := slices.DeleteFunc(strings.Split(list, ","), func(part string) bool { return part == "" })
	trimmed := strings.TrimRight(members, ",")
	if trimmed == "" && members != "" {
		return strings.Join(parts, ",")
	}
	for member := range strings.SplitSeq(trimmed, ",") {
		at := slices.Index(parts, member)
		switch {
		case op == Append && at < 0:
			parts = append(parts, member)
		case op == Subtract && at >= 0:
			parts = slices.Delete(parts, at, at+1)
		}
	}
	return strings.Join(parts, ",")
}
