// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs holds pages of the documentation that are made from the code against the code.
package docs

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the pages instead of comparing them")

const (
	compatibility = "../../../docs/compatibility.md"
	settings      = "../../../docs/settings.md"
	topicSettings = "../../../docs/topic-settings.md"

	begin = "<!-- begin: made from the version table by go test ./internal/docs -rewrite, in gateway -->\n"
	end   = "<!-- end -->"
)

func TestCompatibility(t *testing.T) {
	page := read(t, compatibility)
	head, rest, ok1 := strings.Cut(page, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the page lacks the place for the table")
	}
	compare(t, compatibility, page, head+begin+wire.NewTable().Markdown()+end+tail)
}

func TestSettings(t *testing.T) {
	compare(t, settings, read(t, settings), settingsPage(t))
}

func TestTopicSettings(t *testing.T) {
	compare(t, topicSettings, read(t, topicSettings), topicSettingsPage())
}

const topicSettingsHead = `# Topic settings

<!-- Made by go test ./internal/docs -rewrite, in gateway: change the descriptions in gateway/internal/topicconfig/keys.go. -->

Every setting that a topic has in Kafka 4.1 is known here: it is checked by its type and range, kept, and told by DescribeConfigs, so that tools
and frameworks read back what they have set. What has no effect here is about files and replicas, which are Iggy's business.

Nothing is compacted. Kafka Connect and Kafka Streams insist on ` + "`cleanup.policy=compact`" + ` for topics that hold their state; such a topic
keeps everything, and grows.

Settings that Iggy holds are Iggy's: a native client may set them as well, and sees what Kafka's clients have set. A change counts as soon as it is
acknowledged.

`

// topicSettingsPage lists those that do something, with what it is, and then the others.
func topicSettingsPage() string {
	var effects, others strings.Builder
	for _, k := range topicconfig.NewTable().All() {
		if k.Effect != "" {
			fmt.Fprintf(&effects, "| `%s` | `%s` | %s |\n", k.Name, k.Default, k.Effect)
		} else {
			fmt.Fprintf(&others, "| `%s` | %s | %s |\n", k.Name, code(k.Default), k.Doc)
		}
	}
	return topicSettingsHead + "## With an effect\n\n| setting | default | here |\n|---|---|---|\n" + effects.String() +
		"\n## Without one\n\n| setting | default | in Kafka |\n|---|---|---|\n" + others.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil && !(*rewrite && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	return string(page)
}

func compare(t *testing.T, file, have, want string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s is not what the code says; run with -rewrite (-code +page):\n%s", file, diff)
	}
}

const settingsHead = `# Settings and commands

<!-- Made by go test ./internal/docs -rewrite, in gateway: change the descriptions in gateway/internal/config/config.go. -->

Each setting is an environment variable and a flag: ` + "`IGGY_KAFKA_BIND_ADDR` is `--bind-addr`" + `; a flag wins. Booleans are ` + "`true` or `false`" + `; as a
flag, ` + "`--embedded` or `--embedded=false`" + `, with the equals sign. A variable that begins with ` + "`IGGY_KAFKA_`" + ` and is not listed here ends the
start, so that a typo does not silently give a default; those that Kubernetes makes for a Service are passed over. All faults are reported
together, but for unknown flags: the first one hides other wrong flags, and what only a complete set of settings shows.

` + "```sh" + `
bin/iggy-kafka-gateway check           # are they right?
bin/iggy-kafka-gateway print-config    # what is in effect, secrets masked
` + "```" + `

` + "`check`" + ` reads the files that the settings name, and connects to nothing. The gateway exits with

| code | when |
|---|---|
| 0 | a stop that was asked for; ` + "`check`" + ` found nothing wrong |
| 1 | it could not start or had to stop: the port is taken, Iggy could not be reached within 15 s of the start or refused the user |
| 2 | arguments or settings are wrong; nothing was started or created |

## Commands

` + "`bin/iggy-kafka-gateway completion bash`" + ` and the like print what has a shell complete commands and flags; ` + "`doctor --help`" + ` lists the flags of that
command, which has its own.

| command | does |
|---|---|
`

// settingsPage lists the commands, and every setting by its group, as the tags of Config describe it.
func settingsPage(t *testing.T) string {
	t.Helper()
	model, err := config.Model()
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString(settingsHead)
	for _, command := range model.Children {
		fmt.Fprintf(&page, "| `%s` | %s |\n", command.Name, command.Help)
	}
	group := ""
	for field := range fields(reflect.TypeFor[config.Config]()) {
		if g := field.Tag.Get("group"); g != group {
			group = g
			fmt.Fprintf(&page, "\n## %s\n\n| variable | default | meaning |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", variable(field), code(field.Tag.Get("default")), meaning(field))
	}
	return page.String()
}

// fields yields the fields that are settings.
func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("group") != "" && !yield(f) {
				return
			}
		}
	}
}

// variable is a field's environment variable: its name tag, or its name, word by word.
func variable(f reflect.StructField) string {
	name := f.Tag.Get("name")
	if name == "" {
		name = kebab(f.Name)
	}
	return config.Prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// kebab splits AdvertisedHost into advertised-host, and IggyTLSDomain into iggy-tls-domain.
func kebab(name string) string {
	var out strings.Builder
	upper := func(i int) bool { return i < len(name) && 'A' <= name[i] && name[i] <= 'Z' }
	for i := range len(name) {
		wordBegins := upper(i) && i > 0 && (!upper(i-1) || i+1 < len(name) && !upper(i+1))
		if wordBegins {
			out.WriteByte('-')
		}
		out.WriteByte(name[i])
	}
	return strings.ToLower(out.String())
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func meaning(f reflect.StructField) string {
	text := f.Tag.Get("help")
	if words := f.Tag.Get("oneof"); words != "" {
		text += " One of " + strings.ReplaceAll(words, ",", ", ") + "."
	}
	if limits := f.Tag.Get("range"); limits != "" {
		if strings.HasSuffix(limits, "-") {
			text += " At least " + strings.TrimSuffix(limits, "-") + "."
		} else {
			text += " " + strings.ReplaceAll(limits, "-", " to ") + "."
		}
	}
	if unit := f.Tag.Get("unit"); unit != "" {
		text += " In " + unit + "."
	}
	return text
}

// The variables named here must be those that the loader knows: it refuses an unknown one.
func TestVariablesAreKnown(t *testing.T) {
	for field := range fields(reflect.TypeFor[config.Config]()) {
		_, err := config.Load(nil, []string{variable(field) + "=\x00"})
		if err != nil && strings.Contains(err.Error(), "no such setting") {
			t.Errorf("%s: %v", field.Name, err)
		}
	}
}
