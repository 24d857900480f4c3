// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"slices"
)

// API is what a Table says about one API.
type API struct {
	Key  int16
	Name string
	// Min and Max are the versions served.
	Min, Max int16
	// AdvertisedMin is the lowest version that ApiVersions names. For Produce it is below Min, because librdkafka
	// and others choose a message format by whether an old version is in the range (KAFKA-18659).
	AdvertisedMin int16
	// LargeFrame says that a request may be as large as Limits.MaxFrameSize.
	LargeFrame bool
	// Served says whether the API is served at all. If not, Min and Max are what it will be.
	Served bool
	// Hidden says that the API is not advertised: it is about authentication, and clients do not authenticate.
	Hidden bool
}

// Advertised says whether ApiVersions names the API.
func (a API) Advertised() bool { return a.Served && !a.Hidden }

// row is an API with what only the firewall needs.
type row struct {
	API
	// manyPartitions allows array elements by the size of the frame instead of a fixed number.
	manyPartitions bool
	// layouts are indexed by version - Min.
	layouts []*compiled
}

// compiled is a layout ready to be walked.
type compiled struct {
	header, respHeader int8
	fields             []field
}

// Table is the one source of which APIs and versions are served: the firewall, the ApiVersions answer and the
// page that lists support are made from it. It does not change once built.
type Table struct {
	rows []row // by key
}

// Option changes a Table that is being built.
type Option func(rows []row)

// ServeAll serves and advertises every API of the table in all versions that it lists, for tests and tools.
func ServeAll() Option {
	return func(rows []row) {
		for i, e := range entries() {
			rows[i].Max = e.max
			rows[i].Served = true
			rows[i].Hidden = false
		}
	}
}

// Authentication advertises the APIs that are about authentication. Kafka does so always; clients take it for an
// invitation.
func Authentication() Option {
	return func(rows []row) {
		for i := range rows {
			rows[i].Hidden = false
		}
	}
}

// NewTable returns the table of this release.
func NewTable(opts ...Option) *Table {
	var rows []row
	for _, e := range entries() {
		rows = append(rows, e.row())
	}
	for _, opt := range opts {
		opt(rows)
	}
	for _, l := range layouts() {
		i, known := search(rows, l.key)
		if !known || l.version < rows[i].Min || l.version > rows[i].Max {
			continue
		}
		rows[i].layouts = append(rows[i].layouts, &compiled{l.header, l.respHeader, l.compile()})
	}
	return &Table{rows: rows}
}

// Lookup returns what the table says about a key, served or not.
func (t *Table) Lookup(key int16) (API, bool) {
	i, known := search(t.rows, key)
	if !known {
		return API{}, false
	}
	return t.rows[i].API, true
}

// APIs returns all of the table's APIs by ascending key, served or not.
func (t *Table) APIs() []API {
	apis := make([]API, len(t.rows))
	for i := range t.rows {
		apis[i] = t.rows[i].API
	}
	return apis
}

// admit is the firewall's first step: whether a request of this key and version is served. The layout is nil for
// ApiVersions above the highest version, which is answered without being parsed.
func (t *Table) admit(key, version int16) (*row, *compiled, error) {
	i, known := search(t.rows, key)
	if !known || !t.rows[i].Served {
		return nil, nil, fmt.Errorf("wire: %w: key %d version %d", ErrUnknownAPI, key, version)
	}
	r := &t.rows[i]
	switch {
	case version >= r.Min && version <= r.Max:
		return r, r.layouts[version-r.Min], nil
	case version > r.Max && key == apiVersionsKey:
		return r, nil, nil
	}
	age := "old"
	if version > r.Max {
		age = "new"
	}
	return nil, nil, fmt.Errorf("wire: %w: %s v%d, served are v%d to v%d: the client is too %s, or does not ask what is served",
		ErrUnsupportedVersion, r.Name, version, r.Min, r.Max, age)
}

func search(rows []row, key int16) (int, bool) {
	return slices.BinarySearchFunc(rows, key, func(r row, key int16) int { return int(r.Key) - int(key) })
}
