// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"math"
)

// TransportTCP is the transport of a [Client] connected over TCP.
const TransportTCP = 1

// NoUser is the user id of a [Client] that has not logged in.
const NoUser = math.MaxUint32

// GetClient asks for one connection's [ClientDetails].
type GetClient struct{ ID uint32 }

// Code returns [CodeGetClient].
func (GetClient) Code() Code { return CodeGetClient }

// AppendTo appends the body.
func (g GetClient) AppendTo(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, g.ID) }

// ParseGetClient reads the body of a [GetClient].
func ParseGetClient(b []byte) (GetClient, error) {
	r := reader{b: b}
	g := GetClient{ID: r.u32()}
	return g, r.end("get client")
}

// Client describes a connection.
//
//	id u32 | user u32 | transport u8 | address string32 | groups u32
type Client struct {
	ID, UserID uint32
	Transport  uint8
	Address    string // host:port of the peer
	Groups     uint32 // consumer groups joined
}

// AppendTo appends the client as one element of the answer to [CodeGetClients].
func (c Client) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, c.ID)
	dst = binary.LittleEndian.AppendUint32(dst, c.UserID)
	dst = appendString32(append(dst, c.Transport), c.Address)
	return binary.LittleEndian.AppendUint32(dst, c.Groups)
}

func (r *reader) client() Client {
	return Client{
		ID: r.u32(), UserID: r.u32(),
		Transport: r.u8(),
		Address:   r.string32(),
		Groups:    r.u32(),
	}
}

// ParseClients reads the answer to [CodeGetClients].
func ParseClients(b []byte) ([]Client, error) { return parseList(b, "clients", (*reader).client) }

// ClientDetails is a client with the consumer groups that it joined.
type ClientDetails struct {
	Client
	GroupList []ClientGroup
}

// ClientGroup names a consumer group by its numbers.
type ClientGroup struct{ Stream, Topic, Group uint32 }

// AppendTo appends the answer to [CodeGetMe] or [GetClient].
func (c ClientDetails) AppendTo(dst []byte) []byte {
	dst = c.Client.AppendTo(dst)
	for _, g := range c.GroupList {
		dst = binary.LittleEndian.AppendUint32(dst, g.Stream)
		dst = binary.LittleEndian.AppendUint32(dst, g.Topic)
		dst = binary.LittleEndian.AppendUint32(dst, g.Group)
	}
	return dst
}

// ParseClientDetails reads the answer to [CodeGetMe] or [GetClient]; found is
// false for a client that does not exist.
func ParseClientDetails(b []byte) (c ClientDetails, found bool, err error) {
	if len(b) == 0 {
		return c, false, nil
	}
	r := reader{b: b}
	c.Client = r.client()
	for r.more() {
		c.GroupList = append(c.GroupList, ClientGroup{Stream: r.u32(), Topic: r.u32(), Group: r.u32()})
	}
	if err := r.done("client"); err != nil {
		return ClientDetails{}, false, err
	}
	return c, true, nil
}
