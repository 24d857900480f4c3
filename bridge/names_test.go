// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateTopicName(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"orders", ""},
		{"A.b_c-9", ""},
		{strings.Repeat("x", 249), ""},
		{"", "Topic name is invalid: the empty string is not allowed"},
		{".", "Topic name is invalid: '.' is not allowed"},
		{"..", "Topic name is invalid: '..' is not allowed"},
		{"a b", "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"größe", "Topic name is invalid: 'größe' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{strings.Repeat("x", 32_000), "Topic name is invalid: the length of '" + strings.Repeat("x", 1024) + "...' is longer than the max allowed length 249"},
		{"x" + strings.Repeat("ü", 600), "Topic name is invalid: the length of 'x" + strings.Repeat("ü", 511) + "...' is longer than the max allowed length 249"},
		{strings.Repeat("x", 250), "Topic name is invalid: the length of '" + strings.Repeat("x", 250) + "' is longer than the max allowed length 249"},
	} {
		got := ""
		if err := ValidateTopicName(tc.name); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%q: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Topic maps: testdata/*.good.toml are accepted, each testdata/*.bad.toml gives the errors in its first comment lines.
func TestTopicMapFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(data)) {
				if text, ok := strings.CutPrefix(line, "#! "); ok {
					want = append(want, strings.TrimSpace(text))
				}
			}
			var got []string
			if _, err := ParseTopicMap(data); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if bad := strings.HasSuffix(file, ".bad.toml"); bad != (len(want) > 0) {
				t.Errorf("the file's name and its expectations disagree")
			}
		})
	}
}

func TestNames(t *testing.T) {
	data, err := os.ReadFile("testdata/full.good.toml")
	if err != nil {
		t.Fatal(err)
	}
	names, err := ParseTopicMap(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"main", "legacy", "shop"}, names.Streams()); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		kafka string
		iggy  IggyName
	}{
		{"unlisted", IggyName{"main", "unlisted"}},
		{"orders", IggyName{"shop", "Bestellungen 2024"}},
		{"swap.a", IggyName{"main", "swap.b"}},
		{"swap.b", IggyName{"main", "swap.a"}},
		{"moved", IggyName{"legacy", "moved"}},
	} {
		if got := names.ToIggy(tc.kafka); got != tc.iggy {
			t.Errorf("%s lives in %v, want %v", tc.kafka, got, tc.iggy)
		}
		if got, ok := names.ToKafka(tc.iggy); !ok || got != tc.kafka {
			t.Errorf("%v is %q %v, want %q", tc.iggy, got, ok, tc.kafka)
		}
	}
	for _, hidden := range []IggyName{
		{"main", "moved"},       // its Kafka name is mapped elsewhere
		{"main", "with blanks"}, // no Kafka name
		{"shop", "unlisted"},    // a stream mapped only in parts
	} {
		if got, ok := names.ToKafka(hidden); ok {
			t.Errorf("%v is visible as %q", hidden, got)
		}
	}
}

func FuzzParseTopicMap(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.toml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	// What is accepted maps every listed name to its target and back.
	f.Fuzz(func(t *testing.T, data []byte) {
		names, err := ParseTopicMap(data)
		if err != nil {
			return
		}
		for kafka := range names.toIggy {
			if back, ok := names.ToKafka(names.ToIggy(kafka)); !ok || back != kafka {
				t.Fatalf("%q comes back as %q %v", kafka, back, ok)
			}
		}
	})
}
