// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Entity is who a quota is for: all connections of a user, of a client id, or of both. At least one is set.
type Entity struct{ User, ClientID Name }

// Name is a user or a client id as an entity has it. The zero Name is not set: the entity is about all of them together.
type Name struct {
	kind nameKind
	text string
}

type nameKind uint8

const (
	unset nameKind = iota
	exact
	fallback
)

// Named is one user or client id, which is not empty.
func Named(text string) Name { return Name{exact, text} }

// Default stands for each user or client id that has no quota of its own.
func Default() Name { return Name{kind: fallback} }

// IsSet says whether the entity has such a name at all.
func (n Name) IsSet() bool { return n.kind != unset }

// Text is the name; ok is false of the default.
func (n Name) Text() (text string, ok bool) { return n.text, n.kind == exact }

// The keys of quotas in the store are a format: what was stored must be read for ever.
//
//	key  = name [ "&" name ]            user first
//	name = ( "user" | "client-id" ) "=" ( "<default>" | the name, escaped as in a query )
const (
	userType     = "user"
	clientIDType = "client-id"
	defaultKey   = "<default>" // no escaped name has such signs
)

// key is the entity in the store.
func (e Entity) key() string {
	var parts []string
	for _, p := range []struct {
		kind string
		name Name
	}{{userType, e.User}, {clientIDType, e.ClientID}} {
		switch p.name.kind {
		case exact:
			parts = append(parts, p.kind+"="+url.QueryEscape(p.name.text))
		case fallback:
			parts = append(parts, p.kind+"="+defaultKey)
		}
	}
	return strings.Join(parts, "&")
}

var errKey = errors.New("quotas: no key of a quota")

// parseKey is the other way round. Every entity has one key.
func parseKey(key string) (Entity, error) {
	var e Entity
	for part := range strings.SplitSeq(key, "&") {
		kind, text, _ := strings.Cut(part, "=")
		name := Default()
		if text != defaultKey {
			plain, err := url.QueryUnescape(text)
			if err != nil {
				return Entity{}, fmt.Errorf("%w: %q: %w", errKey, key, err)
			}
			name = Named(plain)
		}
		switch kind {
		case userType:
			e.User = name
		case clientIDType:
			e.ClientID = name
		}
	}
	if e.User == Named("") || e.ClientID == Named("") || e == (Entity{}) || e.key() != key {
		return Entity{}, fmt.Errorf("%w: %q", errKey, key)
	}
	return e, nil
}

// compare orders entities: users before client ids, defaults behind names.
func compare(a, b Entity) int {
	return cmp.Or(compareNames(a.User, b.User), compareNames(a.ClientID, b.ClientID))
}

func compareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text))
}
