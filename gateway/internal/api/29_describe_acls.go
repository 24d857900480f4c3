// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeAcls (29), v1-3 (KIP-140).
//
// v1: pattern types (KIP-290). v2: flexible. v3: user resources (KIP-373), of which there are none.
//
// Users see what Iggy permits them, in Kafka's terms; those that may read users see it of others as well, whom the filter
// has to name: to ask about everybody is to ask about oneself.

const (
	securityDisabled int16 = 54

	// userPrincipal is the type of principals that are users, before their names (KafkaPrincipal.USER_TYPE).
	userPrincipal = "User:"
)

// errUnknownFilter closes the connection, as a broker does.
var errUnknownFilter = errors.New("api: a filter for permissions with unknown elements")

func (a *API) describeACLs(ctx context.Context, conn *server.Conn, req *kmsg.DescribeACLsRequest) (server.Reply, error) {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.Version = req.Version
	if conn.SASL() == nil {
		resp.ErrorCode, resp.ErrorMessage = securityDisabled, message("No Authorizer is configured on the broker")
		return server.NewReply(resp), nil
	}
	filter := aclFilter(req)
	if filter.Unknown() {
		return server.Reply{}, errUnknownFilter
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	user, grants, err := a.grants(ctx, conn, req.Principal)
	if err != nil {
		resp.ErrorCode = a.code(opDescribeACLs, err, false)
		resp.ErrorMessage = errorText(resp.ErrorCode)
		return server.NewReply(resp), nil
	}
	grants = filter.Apply(grants)
	release, err := a.reserveAnswer(ctx, grantsSize(user, grants))
	if err != nil {
		return server.Reply{}, err
	}
	resp.ErrorMessage = message("")
	resp.Resources = make([]kmsg.DescribeACLsResponseResource, len(grants))
	for i := range grants {
		resp.Resources[i] = describedGrant(userPrincipal+user, &grants[i])
	}
	return server.NewReservedReply(resp, release), nil
}

func aclFilter(req *kmsg.DescribeACLsRequest) permissions.Filter {
	return permissions.Filter{
		Type:       permissions.ResourceType(req.ResourceType),
		Name:       req.ResourceName,
		Pattern:    permissions.PatternType(req.ResourcePatternType),
		Host:       req.Host,
		Operation:  permissions.Operation(req.Operation),
		Permission: permissions.PermissionType(req.PermissionType),
	}
}

// grants are those of the user that a filter names, if the client may know them.
func (a *API) grants(ctx context.Context, conn *server.Conn, principal *string) (user string, grants []permissions.Grant, err error) {
	self, err := a.principal(conn)
	if err != nil {
		return "", nil, err
	}
	see, err := a.topics(ctx, conn)
	if err != nil {
		return "", nil, err
	}
	of := see.access
	user = self.Name()
	if principal != nil && *principal != userPrincipal+user {
		var named bool
		if user, named = strings.CutPrefix(*principal, userPrincipal); !named || !see.access.MayReadUsers() {
			return user, nil, nil
		}
		if of, err = a.accessOf(ctx, self.Session(), user); of == nil {
			return user, nil, err
		}
	}
	return user, of.Grants(see.view.Topics), nil
}

// accessOf is what another user may do; nil if there is no such user, or none that s's user may look at.
func (a *API) accessOf(ctx context.Context, s *bridge.Session, user string) (*permissions.Access, error) {
	if !iggywire.ValidName(user) {
		return nil, nil
	}
	details, found, err := a.Bridge.User(ctx, s, iggywire.NamedID(user))
	switch {
	case bridge.IsUnauthorized(err), err == nil && !found:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return permissions.New(details.Permissions), nil
}

// grantsSize bounds the answer, in bytes.
func grantsSize(user string, grants []permissions.Grant) int {
	const answerBytes, resourceBytes, aclBytes = 32, 16, 24
	size := answerBytes
	for i := range grants {
		size += resourceBytes + len(grants[i].Name)
		for range grants[i].Operations.All {
			size += aclBytes + len(user)
		}
	}
	return size
}

func describedGrant(principal string, g *permissions.Grant) kmsg.DescribeACLsResponseResource {
	out := kmsg.NewDescribeACLsResponseResource()
	out.ResourceType, out.ResourceName = kmsg.ACLResourceType(g.Type), g.Name
	out.ResourcePatternType = kmsg.ACLResourcePatternType(permissions.LiteralPattern)
	for op := range g.Operations.All {
		acl := kmsg.NewDescribeACLsResponseResourceACL()
		acl.Principal, acl.Host = principal, permissions.AnyHost
		acl.Operation, acl.PermissionType = kmsg.ACLOperation(op), kmsg.ACLPermissionType(permissions.AllowPermission)
		out.ACLs = append(out.ACLs, acl)
	}
	return out
}
