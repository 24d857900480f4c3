// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// operations runs every command of Iggy's and looks at what it did.
func (w *world) operations(t *testing.T) {
	chapters := []struct {
		name string
		run  func(*client)
	}{
		{"system", w.system},
		{"streams", w.streams},
		{"topics", w.topics},
		{"partitions", w.partitions},
		{"polls", w.polls},
		{"messages", w.messages},
		{"partitioning", w.spread},
		{"largest message", w.largest},
		{"purge and flush", w.purgeAndFlush},
		{"offsets", w.offsets},
		{"groups", w.groups},
		{"users", w.usersChange},
		{"tokens", w.tokensChange},
	}
	ran := 0
	for _, chapter := range chapters {
		t.Run(chapter.name, func(t *testing.T) {
			chapter.run(w.dial(t, root))
			ran++
		})
	}
	if ran < len(chapters) {
		return // not all were wanted, or one failed
	}
	for code := range iggywire.Code(1000) { // Iggy's numbers end at 605
		// A snapshot is the process and files of a real server, packed.
		named := !strings.HasPrefix(code.String(), "command(")
		if _, asked := w.succeeded.Load(code); named && !asked && code != iggywire.CodeGetSnapshot {
			t.Errorf("%v: nobody asks for it", code)
		}
	}
}

func (w *world) system(c *client) {
	c.must(iggywire.Bare(iggywire.CodePing))
	c.must(raw{iggywire.CodePing, []byte{1, 2, 3}}) // nobody looks at a body that need not be there

	cluster := get(c, iggywire.Bare(iggywire.CodeGetClusterMetadata), iggywire.ParseClusterMetadata)
	if len(cluster.Nodes) == 0 || cluster.Nodes[0].TCP == 0 {
		c.Errorf("cluster %+v", cluster)
	}
	stats := get(c, iggywire.Bare(iggywire.CodeGetStats), iggywire.ParseStats)
	if stats.Streams < 1 || stats.Messages < 3 || stats.Clients < 1 || !strings.HasPrefix(stats.ServerVersion, "0.8.") {
		c.Errorf("statistics %+v", stats)
	}

	me := find(c, iggywire.Bare(iggywire.CodeGetMe), iggywire.ParseClientDetails)
	if me.UserID != 0 || me.Transport != iggywire.TransportTCP || me.Address == "" {
		c.Errorf("I am %+v", me)
	}
	if diff := cmp.Diff(me, find(c, iggywire.GetClient{ID: me.ID}, iggywire.ParseClientDetails)); diff != "" {
		c.Errorf("I, looked up (-said +looked up):\n%s", diff)
	}
	listed := false
	for _, other := range get(c, iggywire.Bare(iggywire.CodeGetClients), iggywire.ParseClients) {
		listed = listed || other.ID == me.ID
	}
	if !listed {
		c.Error("I am not in the list of clients")
	}
	c.missing(iggywire.GetClient{ID: 4_000_000_000})

	// Whoever is logged in may log in again, and is then logged in as that one; a failed login changes nothing.
	c.must(iggywire.LoginWithToken{Token: w.tokens[nobody]})
	c.refused(iggywire.StatusUnauthorized, iggywire.Bare(iggywire.CodeGetStreams))
	c.must(iggywire.LoginWithToken{Token: w.tokens[root]})
	c.refused(iggywire.StatusResourceNotFound, iggywire.LoginWithToken{Token: "bogus"})
	c.must(iggywire.Bare(iggywire.CodeGetStreams))
	c.must(iggywire.Bare(iggywire.CodeLogoutUser))
	c.refused(iggywire.StatusUnauthenticated, iggywire.Bare(iggywire.CodeGetStreams))
	c.must(iggywire.Bare(iggywire.CodePing))
}

func (w *world) usersChange(c *client) {
	name, renamed := w.name("alice"), w.name("bob")
	login := func(name, password string) iggywire.LoginUser {
		return iggywire.LoginUser{Username: name, Password: password}
	}
	made := find(c, iggywire.CreateUser{Username: name, Password: userPassword, Status: iggywire.UserActive}, iggywire.ParseUserDetails)
	if made.Username != name || made.Status != iggywire.UserActive || made.Permissions != nil || made.CreatedAt == 0 {
		c.Errorf("made %+v", made)
	}
	id := iggywire.NumericID(made.ID)
	if diff := cmp.Diff(made, find(c, iggywire.GetUser{User: iggywire.NamedID(name)}, iggywire.ParseUserDetails)); diff != "" {
		c.Errorf("by name (-made +found):\n%s", diff)
	}
	if diff := cmp.Diff(made, find(c, iggywire.GetUser{User: id}, iggywire.ParseUserDetails)); diff != "" {
		c.Errorf("by number (-made +found):\n%s", diff)
	}
	c.missing(iggywire.GetUser{User: w.named("none")})
	listed := false
	for _, u := range get(c, iggywire.Bare(iggywire.CodeGetUsers), iggywire.ParseUsers) {
		listed = listed || u == made.User
	}
	if !listed {
		c.Error("not in the list of users")
	}

	alice := w.dial(c.T, stranger)
	alice.must(login(name, userPassword))
	alice.refused(iggywire.StatusUnauthorized, iggywire.Bare(iggywire.CodeGetStreams))
	permissions := &iggywire.Permissions{Global: iggywire.GlobalPermissions{ReadStreams: true}}
	c.must(iggywire.UpdatePermissions{User: id, Permissions: permissions})
	if got := find(c, iggywire.GetUser{User: id}, iggywire.ParseUserDetails); !cmp.Equal(permissions, got.Permissions) {
		c.Errorf("permissions %+v", got.Permissions)
	}
	alice.must(iggywire.Bare(iggywire.CodeGetStreams)) // who is logged in need not log in again
	c.must(iggywire.UpdatePermissions{User: id})
	alice.refused(iggywire.StatusUnauthorized, iggywire.Bare(iggywire.CodeGetStreams))

	alice.must(iggywire.ChangePassword{User: id, Current: userPassword, New: "another"})
	c.must(iggywire.UpdateUser{User: id, Username: renamed})
	again := w.dial(c.T, stranger)
	again.refused(iggywire.StatusInvalidCredentials, login(name, "another"))
	again.refused(iggywire.StatusInvalidCredentials, login(renamed, userPassword))
	again.must(login(renamed, "another"))
	c.must(iggywire.UpdateUser{User: id, Status: iggywire.UserInactive})
	again.refused(iggywire.StatusUserInactive, login(renamed, "another"))
	c.must(iggywire.DeleteUser{User: id})
	c.missing(iggywire.GetUser{User: id})
	again.refused(iggywire.StatusInvalidCredentials, login(renamed, "another"))
}

func (w *world) tokensChange(c *client) {
	c = w.dial(c.T, writer) // root may have tokens of others
	before := get(c, iggywire.Bare(iggywire.CodeGetTokens), iggywire.ParseTokens)
	token := get(c, iggywire.CreateToken{Name: "for ever"}, iggywire.ParseRawToken)
	after := get(c, iggywire.Bare(iggywire.CodeGetTokens), iggywire.ParseTokens)
	if len(after) != len(before)+1 {
		c.Errorf("%d tokens, then %d", len(before), len(after))
	}
	for _, t := range after {
		if t.Name == "for ever" && t.ExpiresAt != 0 {
			c.Errorf("%+v", t)
		}
	}
	other := w.dial(c.T, stranger)
	identity := get(other, iggywire.LoginWithToken(token), iggywire.ParseIdentity)
	if me := find(c, iggywire.Bare(iggywire.CodeGetMe), iggywire.ParseClientDetails); identity.UserID != me.UserID {
		c.Errorf("logged in as %d, the token is %d's", identity.UserID, me.UserID)
	}
	other.must(iggywire.GetStream{Stream: w.stream}) // it may do what its owner may
	c.must(iggywire.DeleteToken{Name: "for ever"})
	w.dial(c.T, stranger).refused(iggywire.StatusResourceNotFound, iggywire.LoginWithToken(token))
}
