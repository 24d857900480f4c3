// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// maxAnswer is the largest answer that is read, in bytes.
const maxAnswer = 256 << 20

// ErrNoAnswer: the server has closed the connection instead of answering.
var ErrNoAnswer = errors.New("connection closed without an answer")

// Conn is a connection on which one exchange follows the other. It is for one goroutine.
type Conn struct {
	conn    net.Conn
	r       *bufio.Reader
	timeout time.Duration
}

// Dial connects within the timeout, which then holds for each exchange.
func Dial(ctx context.Context, addr string, timeout time.Duration) (*Conn, error) {
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	return &Conn{conn: conn, r: bufio.NewReader(conn), timeout: timeout}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Exchange writes bytes, as a rule a frame with its length, and returns the next answer, without its length. The
// error wraps ErrNoAnswer if the server has closed the connection, also in the middle of an answer.
func (c *Conn) Exchange(ctx context.Context, request []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }) // wakes it; it then fails
	defer stop()
	answer, err := c.exchange(request)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("probe: %w", context.Cause(ctx))
	}
	return answer, err
}

func (c *Conn) exchange(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, closed(err)
	}
	var length [4]byte
	if _, err := io.ReadFull(c.r, length[:]); err != nil {
		return nil, closed(err)
	}
	size := int32(binary.BigEndian.Uint32(length[:]))
	if size < 0 || size > maxAnswer {
		return nil, fmt.Errorf("probe: %w: length %d", ErrBadAnswer, size)
	}
	// ReadAll grows with what comes, whatever the length says.
	answer, err := io.ReadAll(io.LimitReader(c.r, int64(size)))
	if err == nil && len(answer) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, closed(err)
	}
	return answer, nil
}

// closed tells the ends of a connection from other errors.
func closed(err error) error {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return fmt.Errorf("probe: %w (%w)", ErrNoAnswer, err)
		}
	}
	return fmt.Errorf("probe: %w", err)
}

// exchangeOnce has one exchange on a connection of its own.
func exchangeOnce(ctx context.Context, addr string, timeout time.Duration, request []byte) ([]byte, error) {
	conn, err := Dial(ctx, addr, timeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Exchange(ctx, request)
}
