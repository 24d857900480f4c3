// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Validate checks all settings of a topic: their names, each value, and those that depend on each other. The error is an
// *Error about the first that is wrong, in a broker's order.
func (t *Table) Validate(settings map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if t.byName[name] == nil {
			return &Error{"Unknown topic config name: " + name}
		}
	}
	for i := range t.checked {
		k := &t.checked[i]
		if value, ok := settings[k.Name]; ok {
			if err := k.validate(value); err != nil {
				return err
			}
		}
	}
	least, most := t.number(settings, minCompactionLag), t.number(settings, maxCompactionLag)
	if least > most {
		return &Error{fmt.Sprintf("conflict topic config setting %s (%d) > %s (%d)", minCompactionLag, least, maxCompactionLag, most)}
	}
	if strings.EqualFold(strings.TrimSpace(settings[remoteStorage]), "true") {
		return &Error{"Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."}
	}
	return nil
}

// number is a valid number that is set, or the default.
func (t *Table) number(settings map[string]string, name string) (n int64) {
	setInt(map[string]string{name: t.byName[name].Default}, name, &n)
	setInt(settings, name, &n)
	return n
}

func (k *Key) validate(value string) error {
	trimmed := strings.TrimSpace(value)
	invalid := func(what, why string) error {
		return &Error{fmt.Sprintf("Invalid value %s for configuration %s: %s", what, k.Name, why)}
	}
	switch k.Type {
	case Boolean:
		if !strings.EqualFold(trimmed, "true") && !strings.EqualFold(trimmed, "false") {
			return invalid(value, "Expected value to be either true or false")
		}
	case Int, Long, Double:
		n, err := k.parseNumber(trimmed)
		switch {
		case err != nil:
			return invalid(value, "Not a number of type "+k.Type.String())
		case k.or != "" && k.Canonical(value) == k.or:
		case k.or != "" && (n < k.min || n > k.max):
			return invalid(k.Canonical(value), fmt.Sprintf("Value must be between %s and %s or equal to %s", k.bound(k.min), k.bound(k.max), k.or))
		case n < k.min:
			return invalid(k.Canonical(value), "Value must be at least "+k.bound(k.min))
		case n > k.max:
			return invalid(k.Canonical(value), "Value must be no more than "+k.bound(k.max))
		}
	case List:
		members := splitList(trimmed)
		if k.replicas && !areReplicas(members) {
			return invalid("["+strings.Join(members, ", ")+"]", k.Name+" must be the literal '*' or a list of replicas in the following format: "+
				"[partitionId]:[brokerId],[partitionId]:[brokerId],...")
		}
		for _, member := range members {
			if k.words != nil && !slices.Contains(k.words, member) {
				return invalid(member, "String must be one of: "+strings.Join(k.words, ", "))
			}
		}
	case String:
		if k.words != nil && !slices.Contains(k.words, trimmed) {
			return invalid(trimmed, "String must be one of: "+strings.Join(k.words, ", "))
		}
	}
	return nil
}

// areReplicas: a member may be empty, as behind a last comma.
func areReplicas(members []string) bool {
	if slices.Equal(members, []string{"*"}) {
		return true
	}
	replica := regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)
	return !slices.ContainsFunc(members, func(m string) bool { return !replica.MatchString(m) })
}

func (k *Key) parseNumber(s string) (float64, error) {
	switch k.Type {
	case Int:
		n, err := strconv.ParseInt(s, 10, 32)
		return float64(n), err
	case Long:
		n, err := strconv.ParseInt(s, 10, 64)
		return float64(n), err
	default:
		return strconv.ParseFloat(s, 64)
	}
}

func (k *Key) bound(n float64) string {
	if k.Type == Double {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatInt(int64(n), 10)
}

// Canonical is a valid value as a broker tells it: what it read, written out.
func (k *Key) Canonical(value string) string {
	trimmed := strings.TrimSpace(value)
	switch k.Type {
	case Boolean:
		return strings.ToLower(trimmed)
	case Int, Long:
		return strings.TrimPrefix(trimmed, "+")
	case Double:
		n, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			return value
		}
		text := strconv.FormatFloat(n, 'f', -1, 64)
		if !strings.ContainsAny(text, ".N") {
			text += ".0"
		}
		return text
	case List:
		return strings.Join(splitList(trimmed), ",")
	default:
		return trimmed
	}
}

// splitList reads a list value: members between commas, blanks around them dropped, "" the empty list.
func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	members := strings.Split(s, ",")
	for i := range members {
		members[i] = strings.TrimSpace(members[i])
	}
	return members
}
