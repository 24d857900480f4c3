// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package tlsconfig

import (
	"encoding/binary"
	"net"
	"slices"
)

// forgetful is what TLS reads its records from. Package crypto/tls decrypts a record within the memory that Read has filled, and
// leaves it there until the next record comes: the password of a client that then has nothing to say. So Read overwrites what
// it has brought as soon as TLS is done with it.
//
// When that is follows from the records' lengths. TLS asks for more only when what it has is no whole record any more and the
// application has taken all of the last one; so if what came so far ends where a record ends, nothing of it is in use.
//
//	record: type u8 | version u16 | length u16 | length bytes
type forgetful struct {
	net.Conn
	header  [recordHeader]byte // of the record at hand, as far as it has come
	have    int                // bytes of it
	missing int                // bytes of the record behind its header that have not come
	brought [][]byte           // since a record last ended with what Read brought
}

const (
	recordHeader = 5
	// maxBrought bounds how much is remembered of a stream that is never seen to end with a record. Its memory is overwritten
	// by what follows.
	maxBrought = 16
)

// Read is io.Reader's, but that it keeps b.
func (f *forgetful) Read(b []byte) (int, error) {
	if f.have == 0 && f.missing == 0 {
		for _, old := range f.brought {
			clear(old)
		}
		f.brought = slices.Delete(f.brought, 0, len(f.brought))
	}
	n, err := f.Conn.Read(b)
	if n > 0 {
		f.follow(b[:n])
		if len(f.brought) == maxBrought {
			f.brought = slices.Delete(f.brought, 0, 1)
		}
		f.brought = append(f.brought, b[:n])
	}
	return n, err
}

// NetConn is the socket.
func (f *forgetful) NetConn() net.Conn { return f.Conn }

// follow takes in what has come.
func (f *forgetful) follow(b []byte) {
	for len(b) > 0 {
		if f.missing > 0 {
			n := min(f.missing, len(b))
			f.missing, b = f.missing-n, b[n:]
			continue
		}
		n := copy(f.header[f.have:], b)
		f.have, b = f.have+n, b[n:]
		if f.have == recordHeader {
			f.have, f.missing = 0, int(binary.BigEndian.Uint16(f.header[3:]))
		}
	}
}
