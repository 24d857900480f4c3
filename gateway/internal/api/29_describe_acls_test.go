// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

// aclsRequest asks for all of everybody's bindings, but for what change says.
func aclsRequest(version int16, change func(*kmsg.DescribeACLsRequest)) *kmsg.DescribeACLsRequest {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.Version = version
	req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 1, 1, 1, 1
	if change != nil {
		change(req)
	}
	return req
}

// bindings are the bindings of an answer, a line for each resource: type, name, then the operations, by Kafka's numbers.
func (c *client) bindings(req *kmsg.DescribeACLsRequest) (principals map[string]bool, lines []string) {
	c.Helper()
	got := ask[*kmsg.DescribeACLsResponse](c, req)
	if got.ErrorCode != 0 || got.ErrorMessage == nil || *got.ErrorMessage != "" {
		c.Fatalf("error %d, %v", got.ErrorCode, got.ErrorMessage)
	}
	principals = map[string]bool{}
	for _, r := range got.Resources {
		words := []string{r.ResourceType.String(), r.ResourceName}
		if r.ResourcePatternType != kmsg.ACLResourcePatternTypeLiteral {
			c.Errorf("%s: pattern %v", r.ResourceName, r.ResourcePatternType)
		}
		for _, acl := range r.ACLs {
			principals[acl.Principal] = true
			words = append(words, acl.Operation.String())
			if acl.Host != "*" || acl.PermissionType != kmsg.ACLPermissionTypeAllow {
				c.Errorf("%s: host %q, %v", r.ResourceName, acl.Host, acl.PermissionType)
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return principals, lines
}

// Users see what they may do, and of others only with the permission to read users.
func TestDescribeACLs(t *testing.T) {
	iggytest.Each(t, func(t *testing.T, server *iggytest.Server) {
		w := newPermitted(t, server, func(stream, topic uint32) *iggywire.Permissions {
			return &iggywire.Permissions{
				Global: iggywire.GlobalPermissions{ReadServers: true, SendMessages: true},
				Streams: []iggywire.StreamPermissions{{
					Stream: stream, PollMessages: true, Topics: []iggywire.TopicPermissions{{Topic: topic, ManageTopic: true}},
				}},
			}
		}, nil)
		reader := server.Prefix + "reader"
		w.root.NewUser(reader, permissionPassword, &iggywire.Permissions{Global: iggywire.GlobalPermissions{ReadUsers: true, PollMessages: true}})
		readers := w.dial(t)
		readers.login(reader, permissionPassword)
		c := w.login(t)

		own := []string{
			"TOPIC * WRITE",
			"TOPIC " + stateTopic + " READ",
			"TOPIC beside READ",
			"TOPIC here READ WRITE CREATE DELETE ALTER DESCRIBE",
			"GROUP * READ",
			"CLUSTER kafka-cluster DESCRIBE",
		}
		self, other := "User:"+w.user, "User:"+reader
		principal := func(p string) func(*kmsg.DescribeACLsRequest) {
			return func(req *kmsg.DescribeACLsRequest) { req.Principal = &p }
		}
		here := "here"
		for _, tc := range []struct {
			name   string
			who    *client
			change func(*kmsg.DescribeACLsRequest)
			of     string
			want   []string
		}{
			{"all", c, nil, self, own},
			{"oneself", c, principal(self), self, own},
			{"another", c, principal(other), "", nil},
			{"another, by a reader of users", readers, principal(self), self, own},
			{"all, by a reader of users", readers, nil, other, []string{"TOPIC * READ", "GROUP * READ"}},
			{"nobody", readers, principal("User:nobody-at-all"), "", nil},
			{"no name", readers, principal("User:"), "", nil},
			{"no user", readers, principal("Group:" + w.user), "", nil},
			{"a bare name", readers, principal(w.user), "", nil},
			{"too long a name", readers, principal("User:" + strings.Repeat("x", 300)), "", nil},
			{"what a topic's name falls under", c, func(req *kmsg.DescribeACLsRequest) {
				req.ResourceType, req.ResourceName, req.ResourcePatternType = kmsg.ACLResourceTypeTopic, &here, kmsg.ACLResourcePatternTypeMatch
			}, self, []string{own[0], own[3]}},
			{"one operation", c, func(req *kmsg.DescribeACLsRequest) { req.Operation = kmsg.ACLOperationRead }, self,
				[]string{own[1], "TOPIC beside READ", "TOPIC here READ", "GROUP * READ"}},
			{"denials", c, func(req *kmsg.DescribeACLsRequest) { req.PermissionType = kmsg.ACLPermissionTypeDeny }, "", nil},
		} {
			for version := int16(1); version <= 3; version++ {
				principals, got := tc.who.bindings(aclsRequest(version, tc.change))
				of := map[string]bool{}
				if tc.of != "" {
					of[tc.of] = true
				}
				if diff := cmp.Diff([]any{of, tc.want}, []any{principals, got}); diff != "" {
					t.Errorf("%s, v%d (-want +got):\n%s", tc.name, version, diff)
				}
			}
		}
	})
}

// A filter with an element that means nothing closes the connection, as a broker's does.
func TestDescribeACLsByUnknown(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onTopic(iggywire.TopicPermissions{}), nil)
	for i, change := range []func(*kmsg.DescribeACLsRequest){
		func(req *kmsg.DescribeACLsRequest) { req.ResourceType = 0 },
		func(req *kmsg.DescribeACLsRequest) { req.ResourcePatternType = 0 },
		func(req *kmsg.DescribeACLsRequest) { req.Operation = 0 },
		func(req *kmsg.DescribeACLsRequest) { req.PermissionType = 0 },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := w.login(t)
			c.send(aclsRequest(3, change))
			c.expectClosed()
		})
	}
}

// Where clients do not authenticate there is nobody to have permissions.
func TestDescribeACLsWithoutAuthentication(t *testing.T) {
	for name, gw := range map[string]*gateway{"with iggy": shared(t), "detached": start(t, setup{detached: true})} {
		for version := int16(1); version <= 3; version++ {
			got := ask[*kmsg.DescribeACLsResponse](gw.dial(t), aclsRequest(version, nil))
			if got.ErrorCode != 54 || *got.ErrorMessage != "No Authorizer is configured on the broker" || len(got.Resources) != 0 {
				t.Errorf("%s, v%d: error %d, %q", name, version, got.ErrorCode, *got.ErrorMessage)
			}
		}
	}
}
