// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// clientVersion names the protocol version that iggywire speaks.
const clientVersion = "0.8.0"

// connect opens a connection that nobody has signed in on. lost is told of its end.
func (b *Bridge) connect(ctx context.Context, maxAnswer int, lost func(*conn, error)) (*conn, error) {
	c, err := b.dial(ctx, maxAnswer, lost)
	if err != nil {
		b.counts.failedDials.Add(1)
	}
	return c, err
}

func (b *Bridge) dial(ctx context.Context, maxAnswer int, lost func(*conn, error)) (*conn, error) {
	nc, err := b.cfg.Dial(ctx, "tcp", b.cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("bridge: dial iggy: %w", err)
	}
	tcp, ok := nc.(*net.TCPConn)
	if ok {
		_ = tcp.SetNoDelay(true)
	}
	if b.cfg.TLS != nil {
		t := tls.Client(nc, b.cfg.tlsFor())
		if err := t.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, fmt.Errorf("bridge: tls handshake with iggy: %w", err)
		}
		nc = t
	}
	c := newConn(nc, tcp, &b.buffers, &b.counts.calls, b.cfg.CallTimeout, maxAnswer, lost)
	c.number = b.dials.Add(1)
	return c, nil
}

// signIn signs a connection in, or ends it. It returns Iggy's number of the user. No byte of body, in which there is a secret,
// is left.
func (c *conn) signIn(ctx context.Context, code iggywire.Code, body []byte) (user uint32, err error) {
	defer clear(body)
	a, err := c.do(ctx, code, body)
	if err != nil {
		c.end()
		return 0, fmt.Errorf("bridge: sign in to iggy: %w", err)
	}
	identity, err := parse(a, iggywire.ParseIdentity)
	if err != nil {
		c.end()
		return 0, fmt.Errorf("bridge: sign in to iggy: %w", err)
	}
	c.signedIn.Store(true)
	return identity.UserID, nil
}

// selfPool is a pool of connections of the gateway's own user.
func (b *Bridge) selfPool(maxConns, maxAnswer int) *connPool {
	var p *connPool
	lost := func(c *conn, err error) {
		b.ended(c, err)
		p.forget(c)
	}
	p = newConnPool(func(ctx context.Context) (*conn, bool, error) {
		c, err := b.connect(ctx, maxAnswer, lost)
		if err != nil {
			return nil, false, err
		}
		login := iggywire.LoginUser{Username: b.cfg.Username, Password: b.cfg.Password, Version: clientVersion}
		_, err = c.signIn(ctx, iggywire.CodeLoginUser, login.AppendTo(nil))
		return c, false, err
	}, b.cfg.DialTimeout, maxConns)
	p.vital = true
	return p
}

// ended takes in the end of a connection. It counts as a loss if it was in use and we did not end it ourselves.
func (b *Bridge) ended(c *conn, err error) {
	if c.signedIn.Load() && !errors.Is(err, errSignedOut) && !errors.Is(err, errOversized) {
		b.connLost(err)
	}
}

// isRefusal reports that Iggy answered a sign-in, and with no.
func isRefusal(err error) bool {
	return !errors.Is(err, ErrMalformed) && (IsLoginFailed(err) || isTokenGone(err) ||
		hasStatus(err, iggywire.StatusInvalidCommand, iggywire.StatusInvalidFormat))
}

// isTokenGone reports that Iggy does not know a personal access token, or no longer takes it.
func isTokenGone(err error) bool {
	return hasStatus(err, iggywire.StatusResourceNotFound, iggywire.StatusInvalidToken, iggywire.StatusTokenExpired)
}

// refused hides by which status a sign-in was refused from who asks for classes of failure: this is no fault of the gateway's own
// user.
func refused(err error) error {
	if isRefusal(err) {
		return fmt.Errorf("%w: %v", ErrRefused, err)
	}
	return err
}

// Login is a connection to Iggy that somebody has just signed in on. It ends by Session.Join, which uses it, or by Close.
type Login struct {
	conn    *conn
	user    *iggywire.UserDetails
	byToken bool
	session atomic.Pointer[Session] // that has it
}

// SignIn signs in as an Iggy user with one login. The bytes of password are overwritten. Errors: ErrRefused, also of a name that is
// a number, and those of the way to Iggy.
func (b *Bridge) SignIn(ctx context.Context, user string, password []byte) (*Login, error) {
	defer clear(password)
	if len(user) > iggywire.MaxNameLength || len(password) > iggywire.MaxNameLength {
		return nil, fmt.Errorf("%w: a name or password of more than %d bytes", ErrRefused, iggywire.MaxNameLength)
	}
	if isNumber(user) {
		return nil, fmt.Errorf("%w: a number for a name", ErrRefused)
	}
	return b.signIn(ctx, false, func(c *conn) (uint32, error) {
		return c.signIn(ctx, iggywire.CodeLoginUser, iggywire.AppendLoginUser(nil, user, password, clientVersion))
	})
}

// isNumber reports that Iggy's server, which reads such names as Rust reads an unsigned number of 32 bits, would take a user's name for
// the number of a user: 1, 001 and +1 are one. Who counts the failures of each name has to count all those of a user.
func isNumber(name string) bool {
	_, err := strconv.ParseUint(strings.TrimPrefix(name, "+"), 10, 32)
	return err == nil
}

// SignInByToken is SignIn with a personal access token of the user's.
func (b *Bridge) SignInByToken(ctx context.Context, token []byte) (*Login, error) {
	defer clear(token)
	if len(token) == 0 || len(token) > iggywire.MaxNameLength {
		return nil, fmt.Errorf("%w: a token of %d bytes", ErrRefused, len(token))
	}
	return b.signIn(ctx, true, func(c *conn) (uint32, error) {
		return c.signIn(ctx, iggywire.CodeLoginWithToken, iggywire.AppendLoginWithToken(nil, token))
	})
}

func (b *Bridge) signIn(ctx context.Context, byToken bool, login func(*conn) (uint32, error)) (*Login, error) {
	l := &Login{byToken: byToken}
	c, err := b.connect(ctx, b.cfg.MaxAnswerSize, func(c *conn, err error) {
		b.ended(c, err)
		if s := l.session.Load(); s != nil {
			s.forget(c)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.conn = c
	number, err := login(c)
	if err != nil {
		return nil, refused(err)
	}
	if l.user, err = getUser(ctx, c.request, iggywire.NumericID(number)); err != nil {
		c.end()
		return nil, err
	}
	return l, nil
}

// User is what Iggy says of who has signed in.
func (l *Login) User() *iggywire.UserDetails { return l.user }

// Close signs out within ctx.
func (l *Login) Close(ctx context.Context) { l.conn.close(ctx) }

// requester runs one request.
type requester func(ctx context.Context, req iggywire.Request) (answer, error)

func (c *conn) request(ctx context.Context, req iggywire.Request) (answer, error) {
	return c.do(ctx, req.Code(), req.AppendTo(nil))
}

// getUser asks for a user who is signed in; that there is none means that it was deleted since.
func getUser(ctx context.Context, ask requester, id iggywire.Identifier) (*iggywire.UserDetails, error) {
	u, ok, err := findUser(ctx, ask, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: user %v is gone", ErrRefused, id)
	}
	return &u, err
}

func findUser(ctx context.Context, ask requester, id iggywire.Identifier) (iggywire.UserDetails, bool, error) {
	a, err := ask(ctx, iggywire.GetUser{User: id})
	if err != nil {
		return iggywire.UserDetails{}, false, err
	}
	u, err := parse(a, maybe(iggywire.ParseUserDetails))
	return u.value, u.ok, err
}

// User asks, as s's user, for one of Iggy's users.
func (b *Bridge) User(ctx context.Context, s *Session, id iggywire.Identifier) (iggywire.UserDetails, bool, error) {
	return findUser(ctx, s.request, id)
}

// Users asks, as s's user, for all of Iggy's users.
func (b *Bridge) Users(ctx context.Context, s *Session) ([]iggywire.User, error) {
	a, err := s.request(ctx, iggywire.Bare(iggywire.CodeGetUsers))
	if err != nil {
		return nil, err
	}
	return parse(a, iggywire.ParseUsers)
}
