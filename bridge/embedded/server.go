// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	cfg      Config
	listener net.Listener
	local    *localListener
	store    store
	catalog  catalog
	started  time.Time

	now   func() uint64   // µs since 1970
	newID func() [16]byte // random

	bodies sync.Pool // of *[]byte: for the bodies of requests

	accepting sync.WaitGroup // the accept loops and, through them, the sessions
	cleaning  sync.WaitGroup
	stop      context.CancelFunc // of the cleaner
	closeOnce sync.Once
	closeErr  error

	mu       sync.Mutex
	closed   bool
	sessions map[uint32]*session
	nextID   uint32
}

// Start opens the data, listens and serves until [Server.Close]. ctx bounds the
// start alone.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("embedded: config: %w", err)
	}
	st, err := openStore(cfg)
	if err != nil {
		return nil, fmt.Errorf("embedded: open %s: %w", cfg.DataDir, err)
	}
	return start(ctx, cfg, st)
}

// start serves what is in st, which it closes, even when it fails.
func start(ctx context.Context, cfg Config, st store) (*Server, error) {
	s := &Server{
		cfg:      cfg,
		store:    st,
		started:  cfg.Now(),
		local:    newLocalListener(),
		now:      func() uint64 { return uint64(cfg.Now().UnixMicro()) },
		newID:    randomID,
		sessions: make(map[uint32]*session),
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: load catalogue: %w", err), st.close())
	}
	var (
		lc  net.ListenConfig
		err error
	)
	s.listener, err = lc.Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: listen: %w", err), st.close())
	}
	s.accepting.Go(func() { s.accept(s.listener) })
	s.accepting.Go(func() { s.accept(s.local) })
	s.startCleaner()
	return s, nil
}

// startCleaner does without one if it shall never run. What keeps it from its work
// is a failure of the store, which Close returns.
func (s *Server) startCleaner() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	if s.cfg.CleanerInterval > 0 {
		s.cleaning.Go(func() { every(ctx, s.cfg.CleanerInterval, func() { _ = s.clean() }) })
	}
}

func openStore(cfg Config) (store, error) {
	if cfg.InMemory {
		return memoryStore{}, nil
	}
	return openPebble(vfs.Default, cfg.DataDir, !cfg.NoFsync)
}

// randomID returns a random UUID: what Iggy gives to a message without an id.
func randomID() (id [16]byte) {
	rand.Read(id[:]) // never fails: it ends the process instead
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, ends all connections, waits for every goroutine and
// closes the data. Requests whose answer was not written yet may have been
// carried out. Its error says what kept the server from writing to the disk, if
// anything did since the start. It may be called more than once.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		err := errors.Join(s.listener.Close(), s.local.Close())
		s.mu.Lock()
		s.closed = true
		for _, session := range s.sessions {
			session.abort()
		}
		s.mu.Unlock()
		s.accepting.Wait()
		s.stop()
		s.cleaning.Wait()
		s.flushAll()
		s.closeErr = errors.Join(err, s.store.close())
	})
	return s.closeErr
}

// accept serves a listener's connections until it is closed. Any other failure to
// accept (no file descriptors left, say) is waited out.
func (s *Server) accept(listener net.Listener) {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		if session := s.join(conn); session != nil {
			sessions.Go(func() {
				session.run()
				session.leaveAll()
				s.leave(session)
			})
		}
	}
}

// acceptPause keeps a failing accept from taking a whole core.
const acceptPause = 10 * time.Millisecond

// join registers a connection, or closes it when there are too many or the
// server is closing.
func (s *Server) join(conn net.Conn) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.sessions) >= s.cfg.MaxConnections {
		conn.Close()
		return nil
	}
	s.nextID++
	session := newSession(s, conn, s.nextID)
	s.sessions[session.id] = session
	return session
}

func (s *Server) leave(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session.id)
}

// commit hands an edit to the store, under the mutex of what it is about; the
// function that it returns, called without the mutex, waits until it is durable.
func (s *Server) commit(e edit) (wait func() iggywire.Status) {
	done := make(chan error, 1)
	s.store.commit(e, func(err error) { done <- err })
	return func() iggywire.Status {
		if <-done != nil {
			return iggywire.StatusError
		}
		return iggywire.StatusOK
	}
}
