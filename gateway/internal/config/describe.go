// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"log/slog"
	"reflect"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// Settings lists every setting in effect, as Print does, for Kafka's tools to read: by the variable that gives it, with what it
// is for. Secrets have no value.
func (c Config) Settings() ([]topicconfig.Setting, error) {
	line := commandLine{Config: c}
	parser, err := newParser(&line, decoders(new(Faults)))
	if err != nil {
		return nil, err
	}
	var settings []topicconfig.Setting
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		s := topicconfig.Setting{Name: variable(flag.Name), Value: format(flag.Value), Type: typeOf(flag.Target), Doc: flag.Help}
		s.Default, s.Secret = s.Value == flag.Default || c.follows(flag.Name, s.Value), s.Type == topicconfig.Password
		if s.Secret {
			s.Value = ""
		}
		settings = append(settings, s)
	}
	return settings, nil
}

func typeOf(v reflect.Value) topicconfig.Type {
	switch v.Interface().(type) {
	case Secret:
		return topicconfig.Password
	case slog.Level:
		return topicconfig.String
	}
	switch v.Kind() {
	case reflect.Bool:
		return topicconfig.Boolean
	case reflect.Int32:
		return topicconfig.Int
	case reflect.Int, reflect.Int64:
		return topicconfig.Long
	default:
		return topicconfig.String
	}
}
