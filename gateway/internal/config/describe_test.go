// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// What Kafka's tools are told is what print-config prints, with types and without secrets.
func TestSettings(t *testing.T) {
	cfg, err := config.Load(nil, []string{"IGGY_KAFKA_IGGY_PASSWORD=hidden", "IGGY_KAFKA_MAX_CONNECTIONS=10", "IGGY_KAFKA_LOG_LEVEL=warn"})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := cfg.Settings()
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := cfg.Print(&printed); err != nil {
		t.Fatal(err)
	}
	told := map[string]topicconfig.Setting{}
	for _, s := range settings {
		told[s.Name] = s
		if s.Doc == "" || strings.Contains(s.Value, "hidden") {
			t.Errorf("%+v", s)
		}
	}
	for line := range strings.Lines(printed.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if s, ok := told[name]; !ok || s.Value != value && !s.Secret {
			t.Errorf("%s: told %+v", line, s)
		}
	}
	for name, want := range map[string]topicconfig.Setting{
		"IGGY_KAFKA_IGGY_PASSWORD":     {Type: topicconfig.Password, Secret: true},
		"IGGY_KAFKA_MAX_CONNECTIONS":   {Value: "10", Type: topicconfig.Long},
		"IGGY_KAFKA_LOG_LEVEL":         {Value: "warn", Type: topicconfig.String},
		"IGGY_KAFKA_EMBEDDED":          {Value: "false", Type: topicconfig.Boolean, Default: true},
		"IGGY_KAFKA_INSTANCE_ID":       {Value: "0", Type: topicconfig.Int, Default: true},
		"IGGY_KAFKA_ADVERTISED_HOST":   {Value: "127.0.0.1", Type: topicconfig.String, Default: true}, // as that of the address
		"IGGY_KAFKA_READ_TIMEOUT_SECS": {Value: "15", Type: topicconfig.Long, Default: true},
	} {
		got := told[name]
		want.Name, want.Doc = name, got.Doc
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
