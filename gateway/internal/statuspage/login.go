// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

const (
	// loginLife is how long a password that was right is taken without asking Iggy. Browsers send it with every request.
	loginLife = 30 * time.Second
	// maxLogins bounds how many are remembered at a time.
	maxLogins = 256
)

var (
	errRefused   = errors.New("statuspage: not logged in")
	errUnchecked = errors.New("statuspage: the login cannot be checked")
)

// User is who has logged in: a principal of the gate.
type User interface {
	sasl.Principal
	Access(ctx context.Context) (*permissions.Access, error)
}

// Login lets Iggy's users in. A password is known here by a keyed digest alone, the key of which lasts as long as the process;
// what is remembered of it is that it was right, for a short while. It is safe for concurrent use.
type Login struct {
	gate    *sasl.Gate
	refused refusals
	key     [sha256.Size]byte

	mu     sync.Mutex
	known  map[digest]*login
	closed bool
}

// digest names a user with a password.
type digest [sha256.Size]byte

// login is one that is being checked or was right.
type login struct {
	checked chan struct{} // closed when it is known what came of it: user or err
	user    User
	err     error

	until  time.Time
	expire *time.Timer // ends it; nil while it is being checked
}

// NewLogin returns a Login; Close ends it, before the gate's.
func NewLogin(gate *sasl.Gate, log *slog.Logger) *Login {
	l := &Login{gate: gate, refused: refusals{log: log}, known: map[digest]*login{}}
	rand.Read(l.key[:])
	return l
}

// Close forgets all logins. Nobody logs in any more.
func (l *Login) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for d := range l.known {
		l.drop(d)
	}
}

// in returns the user that has the password, and what he may do. Errors: errRefused; errUnchecked, where Iggy cannot be asked;
// ctx's.
func (l *Login) in(ctx context.Context, from netip.Addr, user, password string) (User, *permissions.Access, error) {
	d := l.digest(user, password)
	for again := false; ; again = true {
		u, err := l.check(ctx, d, from, user, password)
		if err != nil {
			return nil, nil, err
		}
		access, err := u.Access(ctx)
		switch {
		case err == nil:
			return u, access, nil
		case !errors.Is(err, bridge.ErrRefused):
			return nil, nil, fmt.Errorf("%w: %w", errUnchecked, err)
		case again:
			return nil, nil, errRefused
		}
		l.forget(d, u) // Iggy has to be asked, as of a client whose connection is closed then
	}
}

func (l *Login) digest(user, password string) (d digest) {
	h := hmac.New(sha256.New, l.key[:])
	fmt.Fprintf(h, "%d:", len(user))
	_, _ = io.WriteString(h, user)
	_, _ = io.WriteString(h, password)
	return digest(h.Sum(nil))
}

// check returns who has the password, from memory or by the gate. Who asks for the same at the same time waits for one answer.
func (l *Login) check(ctx context.Context, d digest, from netip.Addr, user, password string) (User, error) {
	for {
		one, first := l.look(d)
		if one == nil {
			return nil, errUnchecked
		}
		if first {
			l.ask(ctx, one, from, user, password)
			l.settle(d, one)
		}
		select {
		case <-one.checked:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if first || ctx.Err() != nil || !errors.Is(one.err, context.Canceled) && !errors.Is(one.err, context.DeadlineExceeded) {
			return one.user, one.err
		} // else whoever asked has gone: somebody else has to
	}
}

// look returns what is known of a login. If that is nothing, its caller is the first, and has to settle what is returned; nil
// after Close.
func (l *Login) look(d digest) (one *login, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	if one = l.known[d]; one == nil {
		one, first = &login{checked: make(chan struct{})}, true
		l.known[d] = one
	}
	return one, first
}

// ask has the gate check a login.
func (l *Login) ask(ctx context.Context, one *login, from netip.Addr, user, password string) {
	token := append(append(append(append([]byte(nil), 0), user...), 0), password...)
	p, err := l.gate.Login(ctx, from, token, "")
	switch {
	case errors.Is(err, sasl.ErrRefused):
		one.err = errRefused
		l.refused.note(from)
	case errors.Is(err, sasl.ErrUnavailable):
		one.err = fmt.Errorf("%w: %w", errUnchecked, err)
	case err != nil:
		one.err = err
	default:
		var ok bool
		if one.user, ok = p.(User); !ok {
			p.Release()
			one.err = errUnchecked
		}
	}
}

// settle tells those who wait, and keeps a login that was right.
func (l *Login) settle(d digest, one *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(one.checked)
	switch {
	case one.err != nil:
		delete(l.known, d)
	case l.closed:
		one.user.Release()
		one.err = errUnchecked
	default:
		l.makeRoom()
		one.until = time.Now().Add(loginLife)
		one.expire = time.AfterFunc(loginLife, func() { l.forget(d, one.user) })
	}
}

// makeRoom drops the login that ends soonest when there are too many. mu is held, as for drop.
func (l *Login) makeRoom() {
	if len(l.known) <= maxLogins {
		return
	}
	var soonest digest
	var at time.Time
	for d, one := range l.known {
		if one.expire != nil && (at.IsZero() || one.until.Before(at)) {
			soonest, at = d, one.until
		}
	}
	l.drop(soonest)
}

// forget drops a login, unless another has taken its place.
func (l *Login) forget(d digest, user User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.known[d]; one != nil && one.user == user {
		l.drop(d)
	}
}

// drop ends a login that was right.
func (l *Login) drop(d digest) {
	one := l.known[d]
	if one == nil || one.expire == nil {
		return // it is being checked
	}
	delete(l.known, d)
	one.expire.Stop()
	one.user.Release()
}
