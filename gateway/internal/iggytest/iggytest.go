// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package iggytest is for tests that need an Iggy with users: one of their own, or the real one that IGGY_ADDR names. It
// speaks to it without anything of the bridge.
package iggytest

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// patience is how long a server may take to answer.
const patience = 20 * time.Second

// Server is an Iggy, and who may do everything there.
type Server struct {
	Addr, Username, Password string
	// Prefix begins the names that a test makes up, as the server may be in use.
	Prefix string
}

// Each runs a test on an Iggy of its own, and on a real one if IGGY_ADDR names one (IGGY_USERNAME and IGGY_PASSWORD, iggy by
// default).
func Each(t *testing.T, test func(*testing.T, *Server)) {
	t.Run("embedded", func(t *testing.T) {
		test(t, Start(t))
	})
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("IGGY_ADDR")
		if addr == "" {
			t.Skip("IGGY_ADDR names no real server")
		}
		test(t, newServer(addr, cmp.Or(os.Getenv("IGGY_USERNAME"), "iggy"), cmp.Or(os.Getenv("IGGY_PASSWORD"), "iggy")))
	})
}

// Start starts an Iggy for one test.
func Start(t *testing.T) *Server {
	t.Helper()
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { iggy.Close() })
	return newServer(iggy.Addr().String(), "iggy", "iggy")
}

func newServer(addr, username, password string) *Server {
	return &Server{addr, username, password, fmt.Sprintf("test-%08x-", rand.Uint32())}
}

// Client is a connection that has signed in.
type Client struct {
	tb   testing.TB
	conn net.Conn
}

// Dial signs in as the user who may do everything.
func (s *Server) Dial(tb testing.TB) *Client {
	tb.Helper()
	return s.DialAs(tb, s.Username, s.Password)
}

// DialAs signs in as some user.
func (s *Server) DialAs(tb testing.TB, username, password string) *Client {
	tb.Helper()
	conn, err := net.DialTimeout("tcp", s.Addr, patience)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	c := &Client{tb, conn}
	c.Must(iggywire.LoginUser{Username: username, Password: password})
	return c
}

// Ask sends a request and waits for its answer.
func (c *Client) Ask(req iggywire.Request) (iggywire.Status, []byte) {
	c.tb.Helper()
	status, body, err := c.ask(req)
	if err != nil {
		c.tb.Fatalf("%v: %v", req.Code(), err)
	}
	return status, body
}

func (c *Client) ask(req iggywire.Request) (iggywire.Status, []byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, nil, err
	}
	if _, err := c.conn.Write(iggywire.AppendFrame(nil, req)); err != nil {
		return 0, nil, err
	}
	var header [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(c.conn, header[:]); err != nil {
		return 0, nil, err
	}
	status, n, err := iggywire.ParseResponseHeader(header[:])
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(c.conn, body)
	return status, body, err
}

// Must is Ask for what has to succeed.
func (c *Client) Must(req iggywire.Request) []byte {
	c.tb.Helper()
	status, body := c.Ask(req)
	if status != iggywire.StatusOK {
		c.tb.Fatalf("%v: %v", req.Code(), status)
	}
	return body
}

// NewStream makes a stream that is there until the test ends.
func (c *Client) NewStream(name string) iggywire.Stream {
	c.tb.Helper()
	details, _, err := iggywire.ParseStreamDetails(c.Must(iggywire.CreateStream{Name: name}))
	if err != nil {
		c.tb.Fatal(err)
	}
	c.tb.Cleanup(func() { c.Ask(iggywire.DeleteStream{Stream: iggywire.NamedID(name)}) })
	return details.Stream
}

// NewTopic makes a topic with one partition.
func (c *Client) NewTopic(stream, name string) iggywire.Topic {
	c.tb.Helper()
	details, _, err := iggywire.ParseTopicDetails(c.Must(iggywire.CreateTopic{
		Stream: iggywire.NamedID(stream), Name: name, Partitions: 1,
		Compression: iggywire.CompressionNone, MessageExpiry: iggywire.NeverExpire, MaxSize: iggywire.UnlimitedSize, ReplicationFactor: 1,
	}))
	if err != nil {
		c.tb.Fatal(err)
	}
	return details.Topic
}

// NewUser makes a user who is there until the test ends.
func (c *Client) NewUser(name, password string, p *iggywire.Permissions) {
	c.tb.Helper()
	c.Must(iggywire.CreateUser{Username: name, Password: password, Status: iggywire.UserActive, Permissions: p})
	c.tb.Cleanup(func() { c.Ask(iggywire.DeleteUser{User: iggywire.NamedID(name)}) })
}

// Permit replaces what a user may do.
func (c *Client) Permit(name string, p *iggywire.Permissions) {
	c.tb.Helper()
	c.Must(iggywire.UpdatePermissions{User: iggywire.NamedID(name), Permissions: p})
}
