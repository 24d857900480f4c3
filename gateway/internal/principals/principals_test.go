// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package principals

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// town is an Iggy server with users, and a directory of them.
type town struct {
	*testing.T
	server    *embedded.Server
	admin     net.Conn
	directory *Directory
}

// newTown makes a directory whose accounts stay for long: expire is called by hand.
func newTown(t *testing.T) *town {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	b, err := bridge.Open(t.Context(), bridge.Config{
		Addr: server.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), Dial: server.Dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := server.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	tw := &town{t, server, admin, Open(b, time.Hour)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		tw.directory.Close(ctx)
		b.Close(ctx)
		_ = admin.Close()
	})
	tw.ask(iggywire.LoginUser{Username: "iggy", Password: "iggy"})
	return tw
}

// ask asks the server as its root user.
func (tw *town) ask(req iggywire.Request) []byte {
	tw.Helper()
	frame := iggywire.AppendFrame(nil, req)
	if _, err := tw.admin.Write(frame); err != nil {
		tw.Fatal(err)
	}
	clear(frame)
	var header [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(tw.admin, header[:]); err != nil {
		tw.Fatal(err)
	}
	status, n, err := iggywire.ParseResponseHeader(header[:])
	if err != nil || status != iggywire.StatusOK {
		tw.Fatalf("%v: %v, %v", req.Code(), status, err)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(tw.admin, body); err != nil {
		tw.Fatal(err)
	}
	return body
}

func (tw *town) add(name string) {
	tw.Helper()
	tw.ask(iggywire.CreateUser{
		Username: name, Password: "password of " + name, Status: iggywire.UserActive,
		Permissions: &iggywire.Permissions{Global: iggywire.GlobalPermissions{SendMessages: true}},
	})
}

func (tw *town) signIn(name string) *Principal {
	tw.Helper()
	p, err := tw.directory.SignIn(tw.Context(), name, []byte("password of "+name))
	if err != nil {
		tw.Fatal(err)
	}
	return p
}

// connections is on how many the server says that users other than root are signed in.
func (tw *town) connections() (n int) {
	tw.Helper()
	clients, err := iggywire.ParseClients(tw.ask(iggywire.Bare(iggywire.CodeGetClients)))
	if err != nil {
		tw.Fatal(err)
	}
	for _, c := range clients {
		if c.UserID != 0 && c.UserID != iggywire.NoUser {
			n++
		}
	}
	return n
}

// armed reports that the account will close when its time has come.
func (d *Directory) armed(a *account) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return a.leave != nil && a.leave.Reset(d.idle)
}

func TestSignIn(t *testing.T) {
	tw := newTown(t)
	tw.add("ann")
	tw.add("bob")
	d := tw.directory
	first, second, other := tw.signIn("ann"), tw.signIn("ann"), tw.signIn("bob")
	if first.Name() != "ann" || first.Session() != second.Session() || first.Session() == other.Session() || other.Session() == d.Self().Session() {
		t.Error("clients of one user share its session, and those of others do not")
	}
	user, err := first.User(t.Context())
	if err != nil || user.Username != "ann" {
		t.Errorf("%+v, %v", user, err)
	}
	access, err := first.Access(t.Context())
	if err != nil || !access.MaySendAnywhere() || access.MayReadServers() {
		t.Errorf("%+v, %v", access, err)
	}
	if mine, err := d.Self().Access(t.Context()); err != nil || !mine.MayReadServers() {
		t.Errorf("the gateway's own user: %+v, %v", mine, err)
	}

	token := []byte(tw.tokenOf("ann"))
	byToken, err := d.SignIn(t.Context(), TokenUser, token)
	if err != nil {
		t.Fatal(err)
	}
	if byToken.Name() != "ann" || byToken.Session() != first.Session() {
		t.Errorf("by token it is %q", byToken.Name())
	}
	if slices.Max(token) != 0 {
		t.Error("the token is still there")
	}

	for user, password := range map[string]string{"ann": "wrong password", "nobody": "password of ann", "": "", TokenUser: "no token"} {
		secret := []byte(password)
		if _, err := d.SignIn(t.Context(), user, secret); !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%q: %v", user, err)
		}
		if len(secret) > 0 && slices.Max(secret) != 0 {
			t.Errorf("%q: the password is still there", user)
		}
	}
	if err := tw.server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.SignIn(t.Context(), "ann", []byte("password of ann")); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) {
		t.Errorf("iggy is away: %v", err)
	}
}

// tokenOf makes a token as a user does.
func (tw *town) tokenOf(name string) string {
	tw.Helper()
	mine, err := tw.server.Dial(tw.Context(), "", "")
	if err != nil {
		tw.Fatal(err)
	}
	defer mine.Close()
	as := *tw
	as.admin = mine
	as.ask(iggywire.LoginUser{Username: name, Password: "password of " + name})
	raw, err := iggywire.ParseRawToken(as.ask(iggywire.CreateToken{Name: "mine", Expiry: 60_000_000}))
	if err != nil {
		tw.Fatal(err)
	}
	return raw.Token
}

// The connections of a user close when its last client has been gone for the idle time, and not before.
func TestLastClientGone(t *testing.T) {
	tw := newTown(t)
	tw.add("ann")
	d := tw.directory
	first, second := tw.signIn("ann"), tw.signIn("ann")
	a := first.account
	user, err := first.User(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := identity{user.ID, user.CreatedAt}
	first.Release()
	first.Release()
	if d.armed(a) {
		t.Error("about to close, though there is a client")
	}
	d.expire(key, a)
	if _, err := second.User(t.Context()); err != nil {
		t.Errorf("closed, though there is a client: %v", err)
	}
	second.Release()
	if !d.armed(a) {
		t.Error("not about to close")
	}
	third := tw.signIn("ann")
	if third.Session() != a.session {
		t.Error("not the session that was still there")
	}
	third.Release()
	d.expire(key, a)
	if n := tw.connections(); n != 0 {
		t.Errorf("%d connections afterwards", n)
	}
	d.expire(key, a) // a timer that came too late
	again := tw.signIn("ann")
	if again.Session() == a.session {
		t.Error("a session that is closed came back")
	}
	d.expire(key, a)
	if _, err := again.User(t.Context()); err != nil {
		t.Errorf("the new session: %v", err)
	}
}

// A user that was deleted and made again is another one, also by the same number.
func TestMadeAgain(t *testing.T) {
	tw := newTown(t)
	tw.add("ann")
	old := tw.signIn("ann")
	if _, err := old.User(t.Context()); err != nil {
		t.Fatal(err)
	}
	tw.ask(iggywire.DeleteUser{User: iggywire.NamedID("ann")})
	tw.add("ann")
	made := tw.signIn("ann")
	if made.Session() == old.Session() {
		t.Error("taken for the one that was deleted")
	}
	if _, err := made.User(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whoever comes and goes at the same time: nobody is left without a session, and nothing is left at the end.
func TestComingAndGoing(t *testing.T) {
	tw := newTown(t)
	names := []string{"ann", "bob", "cat"}
	for _, name := range names {
		tw.add(name)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for range 3 {
				p, err := tw.directory.SignIn(t.Context(), names[i%3], []byte("password of "+names[i%3]))
				if err != nil {
					t.Error(err)
					return
				}
				if user, err := p.User(t.Context()); err != nil || user.Username != p.Name() {
					t.Errorf("%s: %v", p.Name(), err)
				} else if i%2 == 0 {
					p.Release()
					tw.directory.expire(identity{user.ID, user.CreatedAt}, p.account) // as if its time had come
				}
				p.Release()
			}
		})
	}
	wg.Wait()
	held := tw.signIn("ann")
	tw.directory.Close(t.Context())
	if n := tw.connections(); n != 0 {
		t.Errorf("%d connections at the end", n)
	}
	if _, err := held.Session().User(t.Context()); err == nil {
		if _, err = tw.directory.bridge.Users(t.Context(), held.Session()); !errors.Is(err, bridge.ErrClosed) {
			t.Errorf("as somebody who was signed out: %v", err)
		}
	}
	held.Release()
	if _, err := tw.directory.SignIn(t.Context(), "ann", []byte("password of ann")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
}

// What a client has signed in with is nowhere in this process afterwards.
func TestPasswordIsForgotten(t *testing.T) {
	tw := newTown(t)
	password := make([]byte, 48)
	for i := range password {
		password[i] = byte('A' + i*11%57)
	}
	secret := bridgetest.Disguise(password)
	text := secret.Reveal()
	tw.ask(iggywire.CreateUser{Username: "ann", Password: string(text), Status: iggywire.UserActive})
	p, err := tw.directory.SignIn(t.Context(), "ann", text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tw.directory.SignIn(t.Context(), "nobody", secret.Reveal()); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if n, err := secret.InMemory(); err != nil || n != 0 {
		t.Errorf("the password is in memory in %d places, %v", n, err)
	}
	runtime.KeepAlive(p)
}
