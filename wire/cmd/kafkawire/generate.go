// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/wire"
	"github.com/iggy-kafka/iggy-kafka/wire/internal/probe"
)

// generated is a line of generate's output.
type generated struct {
	Key     int16      `json:"key"`
	Name    string     `json:"name"`
	Version int16      `json:"version"`
	Fill    probe.Fill `json:"fill"`
	Frame   frame      `json:"frame"`
}

// frame is a request from its length on, written in hex.
type frame []byte

func (f frame) String() string { return hex.EncodeToString(f) }

// MarshalText makes it a string in JSON.
func (f frame) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// selection picks requests; what is empty, or anyVersion, picks all.
type selection struct {
	api     string // key or name
	version int
	fill    string
}

const anyVersion = -1

func generate(_ context.Context, std streams, args []string) error {
	set := flags(std, "generate", "")
	var pick selection
	set.StringVar(&pick.api, "api", "", "only this API, by key or name")
	set.IntVar(&pick.version, "version", anyVersion, "only this version, -1 for all")
	set.StringVar(&pick.fill, "fill", "", "only full or sparse requests")
	format := set.String("format", "json", "json: an object a line; hex: the frame alone")
	dir := set.String("dir", "", "write each frame to a file of its own in this folder, in binary, and print nothing")
	correlationID := set.Int("correlation-id", 1, "the correlation id of all")
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if *format != "json" && *format != "hex" {
		return wrong(set, "-format is json or hex, not %q", *format)
	}
	requests, err := pick.requests(int32(*correlationID))
	if err != nil {
		return wrong(set, "%v", err)
	}
	if *dir != "" {
		if err := os.MkdirAll(*dir, 0o755); err != nil {
			return err
		}
	}
	for _, r := range requests {
		switch {
		case *dir != "":
			name := fmt.Sprintf("%02d_%s_v%d_%s.bin", r.Key, r.Name, r.Version, r.Fill)
			if err := os.WriteFile(filepath.Join(*dir, name), r.Frame, 0o644); err != nil {
				return err
			}
		case *format == "hex":
			fmt.Fprintln(std.out, r.Frame)
		default:
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(std.out, "%s\n", line)
		}
	}
	return nil
}

// requests makes what is selected. That there is nothing is an error.
func (s selection) requests(correlationID int32) (out []generated, err error) {
	table := wire.NewTable(wire.ServeAll())
	apis := table.APIs()
	if s.api != "" {
		api, err := findAPI(table, s.api)
		if err != nil {
			return nil, err
		}
		apis = []wire.API{api}
	}
	for _, api := range apis {
		for v := api.Min; v <= api.Max; v++ {
			if s.version != anyVersion && s.version != int(v) {
				continue
			}
			for _, fill := range []probe.Fill{probe.Full, probe.Sparse} {
				if s.fill != "" && s.fill != string(fill) {
					continue
				}
				req, err := probe.Request(api.Key, v, fill)
				if err != nil {
					return nil, err
				}
				out = append(out, generated{api.Key, api.Name, v, fill, probe.Frame(req, correlationID)})
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no request is known of this version and fill")
	}
	return out, nil
}

// findAPI finds an API by key or name.
func findAPI(table *wire.Table, which string) (wire.API, error) {
	apis := table.APIs()
	i := slices.IndexFunc(apis, func(api wire.API) bool {
		return strings.EqualFold(api.Name, which) || strconv.Itoa(int(api.Key)) == which
	})
	if i < 0 {
		return wire.API{}, fmt.Errorf("no API %q is known", which)
	}
	return apis[i], nil
}
