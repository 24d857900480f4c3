// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// All users together have so many connections for polls beside the one that each has, whether their clients bring them or the gateway
// opens them. Who is busy first has them, everybody is served, and they are there for others when they are needed no more.
func TestExtraReads(t *testing.T) {
	const extra, each = 3, 8
	names := []string{"ann", "bob", "cat"}
	withPrincipals(t, func(c *Config) { c.MaxExtraReads, c.IdleTimeout = extra, 10*time.Minute }, names, func(t *testing.T, f *fakeIggy, b *Bridge) {
		ann, bob, cat := signIn(t, b, "ann"), signIn(t, b, "bob"), signIn(t, b, "cat")
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodePing {
				return slow
			}
			return behave
		})
		burst := func(s *Session) {
			t.Helper()
			for range each {
				pingAtOnce(t, s.reads, each*busyCalls)
			}
		}
		expect := func(when string, want ...int) {
			t.Helper()
			for i, name := range names {
				if n := f.connected(name); n != want[i] {
					t.Errorf("%s: %s has %d connections, want %d", when, name, n, want[i])
				}
			}
		}
		join(t, b, bob, "bob")
		expect("clients have come", 1, 2, 1)
		burst(ann)
		join(t, b, cat, "cat")
		burst(cat)
		expect("all are taken", 3, 2, 1)
		time.Sleep(20 * time.Minute)
		expect("nobody is busy", 1, 1, 1)
		burst(cat)
		expect("others have gone", 1, 1, 4)
		cat.Close(t.Context())
		f.setFault(func(code iggywire.Code) fault {
			switch code {
			case iggywire.CodePing:
				return slow
			case iggywire.CodeLoginWithToken:
				return refuse
			}
			return behave
		})
		burst(ann) // none can be opened
		f.setFault(func(iggywire.Code) fault { return slow })
		time.Sleep(redialMax)
		burst(bob)
		expect("the others once more", 1, 4, 0)
		bob.Close(t.Context())
		ann.Close(t.Context())
		synctest.Wait()
		if n := b.extras.free.Load(); n != extra {
			t.Errorf("%d of %d are free in the end", n, extra)
		}
	})
}
