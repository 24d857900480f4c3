// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// aclScripts are about permissions, of which there are none where clients do not authenticate.
func aclScripts() []script {
	return []script{
		{key: kmsg.DescribeACLs.Int16(), run: (*parity).describeACLs, asked: always(kerr.SecurityDisabled)},
	}
}

func (p *parity) describeACLs() {
	all := kmsg.NewPtrDescribeACLsRequest()
	all.ResourceType, all.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	all.Operation, all.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	p.step("everybody's", all)

	one := *all
	one.ResourceType, one.ResourceName = kmsg.ACLResourceTypeTopic, &p.topic.name
	one.ResourcePatternType, one.Principal = kmsg.ACLResourcePatternTypeLiteral, kmsg.StringPtr("User:somebody")
	p.step("somebody's for a topic", &one)
}
