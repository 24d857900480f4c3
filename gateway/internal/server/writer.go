// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"net"
	"time"
)

// writeBufferSize gathers small answers where the connection has no writev: one TLS record instead of one each.
const writeBufferSize = 16 << 10

// writeReady writes the answers at the front of the pipeline, in the order of the requests, until one is not there yet, or
// closes the connection when there will be none. Its caller is the pipeline's writer.
func (c *Conn) writeReady() {
	for c.ctx.Err() == nil {
		batch, end := c.pipeline.take(c.writer.batch[:0])
		if len(batch) == 0 { // and somebody else may be the writer by now
			if end.cause != 0 {
				c.close(end)
			}
			return
		}
		c.writer.batch = batch
		if end = c.write(batch); end.cause != 0 {
			c.close(end)
			return
		}
		c.pipeline.written(len(batch))
		clear(batch) // a connection at rest holds nothing
	}
}

// write writes a batch up to an answer in whose place, or behind which, the connection closes.
func (c *Conn) write(batch []*exchange) (end closing) {
	w, answered := c.writer, 0
	for _, ex := range batch {
		if end = ex.out.closing; end.cause != 0 {
			break
		}
		w.add(&ex.out)
		answered++
		if end = ex.out.last; end.cause != 0 {
			break
		}
	}
	if w.size > 0 {
		c.nc.SetWriteDeadline(time.Now().Add(c.server.cfg.WriteTimeout))
		if err := w.flush(); err != nil {
			end, answered = writeFailure(err), 0
		}
	}
	for i, ex := range batch {
		c.finish(ex, i < answered)
		c.discard(&ex.out)
	}
	return end
}

// answerWriter writes several answers at once, with as few copies and system calls as the connection allows. It belongs to
// the pipeline's writer.
type answerWriter struct {
	batch []*exchange // memory for what is being written
	nc    net.Conn
	tcp   bool
	buf   *bufio.Writer // for connections that are not TCP
	bufs  net.Buffers
	size  int
}

func newAnswerWriter(nc net.Conn) *answerWriter {
	w := &answerWriter{nc: nc}
	if _, w.tcp = nc.(*net.TCPConn); !w.tcp {
		w.buf = bufio.NewWriterSize(nc, writeBufferSize)
	}
	return w
}

// add appends an answer to what the next flush writes.
func (w *answerWriter) add(out *outgoing) {
	if out.head == nil {
		return
	}
	w.bufs = append(append(w.bufs, out.head.B), out.raw...)
	w.size += out.size
}

// flush writes what was added: by writev on TCP, elsewhere small pieces gathered and large ones as they are.
func (w *answerWriter) flush() (err error) {
	rest := w.bufs // WriteTo consumes its receiver
	if w.tcp {
		_, err = rest.WriteTo(w.nc)
	} else if _, err = rest.WriteTo(w.buf); err == nil {
		err = w.buf.Flush()
	}
	clear(w.bufs)
	w.bufs, w.size = w.bufs[:0], 0
	return err
}
