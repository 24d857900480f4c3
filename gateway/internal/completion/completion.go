// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package completion makes what has a shell complete the program's commands and flags, from the same models that its command
// lines are read by: what it knows is never out of date.
package completion

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed bash.tmpl zsh.tmpl fish.tmpl
var templates embed.FS

// program is what the templates are filled from.
type program struct {
	Name     string
	Commands []command
	// Flags are those that may stand before and behind every command but those that have flags of their own.
	Flags []flag
}

// command is one of the program's.
type command struct {
	Name, Help string
	Own        bool     // its flags are Flags alone
	Flags      []flag   // its own
	Words      []string // what its argument may be; empty: none, or anything
}

// flag is one flag.
type flag struct {
	Name, Help string
	Bool       bool     // may stand without a value
	File       bool     // its value is a file or a folder
	Words      []string // what its value may be; empty: anything
}

// Script is what a shell (bash, zsh, fish) reads to complete the program's command line. own are the models of commands that read
// their arguments themselves, by name.
func Script(shell string, model *kong.Application, own map[string]*kong.Application) ([]byte, error) {
	p := program{Name: model.Name, Flags: flags(model.Node)}
	for _, node := range model.Children {
		c := command{Name: node.Name, Help: brief(node.Help)}
		if sub := own[node.Name]; sub != nil {
			c.Own, c.Flags = true, flags(sub.Node)
		} else if len(node.Positional) > 0 {
			c.Words = node.Positional[0].EnumSlice()
		}
		p.Commands = append(p.Commands, c)
	}
	t, err := template.New("").Funcs(functions()).ParseFS(templates, shell+".tmpl")
	if err != nil {
		return nil, fmt.Errorf("completion: %w", err)
	}
	var script bytes.Buffer
	if err := t.ExecuteTemplate(&script, shell+".tmpl", p); err != nil {
		return nil, fmt.Errorf("completion: %w", err)
	}
	return script.Bytes(), nil
}

func flags(node *kong.Node) (flags []flag) {
	for _, f := range node.Flags {
		value := flag{Name: f.Name, Help: brief(f.Help), Bool: f.IsBool()}
		value.File = strings.HasSuffix(f.Name, "-file") || strings.HasSuffix(f.Name, "-path") || strings.HasSuffix(f.Name, "-dir")
		if words := f.Tag.Get("oneof"); words != "" {
			value.Words = strings.Split(words, ",")
		}
		flags = append(flags, value)
	}
	return flags
}

// brief is the first clause of a help text.
func brief(help string) string {
	if i := strings.IndexAny(help, ".;:("); i >= 0 {
		help = help[:i]
	}
	return strings.TrimSpace(help)
}

func functions() template.FuncMap {
	return template.FuncMap{
		"join": strings.Join,
		// quote makes a text one word of a shell, inside single quotes.
		"quote": func(text string) string { return strings.ReplaceAll(text, "'", `'\''`) },
		// spec is quote for what has a meaning for zsh's _arguments.
		"spec": strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace,
		// names are the flags that a condition holds for, as patterns of a case: --a|--b.
		"names": func(which string, flags []flag) string {
			var names []string
			for _, f := range flags {
				if which == "file" && f.File || which == "value" && !f.Bool && !f.File && len(f.Words) == 0 {
					names = append(names, "--"+f.Name)
				}
			}
			return strings.Join(names, "|")
		},
		"worded": func(flags []flag) []flag {
			return slices.DeleteFunc(slices.Clone(flags), func(f flag) bool { return len(f.Words) == 0 })
		},
		"ident": func(name string) string { return strings.ReplaceAll(name, "-", "_") },
	}
}
