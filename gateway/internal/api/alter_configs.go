// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// alterTimeout bounds one request that changes settings, which names no time itself.
const alterTimeout = 20 * time.Second

// alteration is what a request wants of one resource, and what came of it.
type alteration struct {
	kind    kmsg.ConfigResourceType
	name    string
	changes []topicconfig.Change
	nulls   []string // settings that are to get no value
	replace bool     // settings that are not named go
	refused *refusal
}

// answered is an alteration's code and text.
func (a *alteration) answered() (code int16, message *string) {
	if a.refused == nil {
		return none, nil
	}
	return a.refused.code, nullable(a.refused.text)
}

// alterConfigs checks what a request wants, in the order of Kafka's ConfigAdminManager and ConfigurationControlManager, and
// does it unless it is only to be checked. A resource is changed as a whole or not at all; one does not depend on another.
func (a *API) alterConfigs(ctx context.Context, conn *server.Conn, all []alteration, validateOnly bool) {
	type resource struct {
		kind kmsg.ConfigResourceType
		name string
	}
	count := map[resource]int{}
	for i := range all {
		count[resource{all[i].kind, all[i].name}]++
	}
	ctx, cancel := context.WithTimeout(ctx, alterTimeout)
	defer cancel()
	access, failed := a.access(ctx, conn)
	var topics []*alteration
	for i := range all {
		alter := &all[i]
		if count[resource{alter.kind, alter.name}] > 1 {
			alter.refused = refuse(invalidRequest, "Each resource must appear at most once.")
			continue
		}
		if alter.refused = alter.malformed(); alter.refused != nil {
			continue
		}
		switch alter.kind {
		case kmsg.ConfigResourceTypeTopic:
			topics = append(topics, alter)
		case kmsg.ConfigResourceTypeBroker:
			if alter.refused = a.alterBroker(alter); alter.refused == nil {
				alter.refused = a.mayAlterBroker(access, failed)
			}
		default:
			alter.refused = refuse(invalidRequest, "Unknown resource type %d", alter.kind)
		}
	}
	if len(topics) > 0 {
		a.alterTopics(ctx, conn, topics, validateOnly)
	}
}

// malformed says what is wrong with an alteration whatever it is about.
func (a *alteration) malformed() *refusal {
	named := make(map[string]struct{}, len(a.changes))
	for _, c := range a.changes {
		if _, again := named[c.Name]; again {
			return refuse(invalidRequest, "Error due to duplicate config keys")
		}
		named[c.Name] = struct{}{}
	}
	if len(a.nulls) > 0 {
		return refuse(invalidRequest, "Null value not supported for : %s", strings.Join(a.nulls, ", "))
	}
	return nil
}

// alterBroker refuses all that would change something: the gateway's settings are fixed when it starts.
func (a *API) alterBroker(alter *alteration) *refusal {
	if alter.name != "" {
		id, err := strconv.ParseInt(alter.name, 10, 32)
		switch {
		case err != nil:
			return refuse(invalidRequest, "Node id must be an integer, but it is: %s", alter.name)
		case int32(id) != a.NodeID:
			return refuse(invalidRequest, "Unexpected broker id, expected %d, but received %s", a.NodeID, alter.name)
		}
	}
	var fixed []string
	for _, c := range alter.changes {
		switch c.Op {
		case topicconfig.Set:
			fixed = append(fixed, c.Name)
		case topicconfig.Delete: // there is nothing to delete
		case topicconfig.Append, topicconfig.Subtract:
			return refuse(invalidConfig, "Config value %s is not allowed for config key: %s", strings.ToLower(c.Op.String()), c.Name)
		default:
			return refuse(invalidRequest, "Unknown operations type %d", c.Op)
		}
	}
	if len(fixed) > 0 {
		slices.Sort(fixed)
		return refuse(invalidRequest, "Cannot update these configs dynamically: Set(%s)", strings.Join(fixed, ", "))
	}
	return nil
}

func (a *API) mayAlterBroker(access *permissions.Access, failed error) *refusal {
	switch {
	case failed != nil:
		return a.refusalOf(opAlterConfigs, failed)
	case !access.MayManageServers():
		return refuse(clusterAuthFailed, textNoCluster)
	}
	return nil
}

// alterTopics changes topics, one after the other, by what Iggy holds of them now.
func (a *API) alterTopics(ctx context.Context, conn *server.Conn, topics []*alteration, validateOnly bool) {
	see, end, no := a.topicsToAlter(ctx, conn)
	defer end()
	for _, alter := range topics {
		if alter.refused = no; no == nil {
			alter.refused = a.alterTopic(ctx, a.session(conn), see, alter, validateOnly)
		}
	}
}

// topicsToAlter looks at the topics as they are now, while nobody else changes them through this gateway, which lasts until end
// is called.
func (a *API) topicsToAlter(ctx context.Context, conn *server.Conn) (see sight, end func(), no *refusal) {
	end = func() {}
	if a.Bridge == nil {
		return see, end, refuse(notController, textNotController)
	}
	a.awaitSettings(ctx)
	if !a.ownsState() {
		return see, end, refuse(notController, textNotController)
	}
	select {
	case a.altering <- struct{}{}:
		end = func() { <-a.altering }
	case <-ctx.Done():
		return see, end, a.refusalOf(opAlterConfigs, ctx.Err())
	}
	var err error
	if see.access, err = a.access(ctx, conn); err == nil {
		see.view, err = a.Bridge.TopicsWithin(ctx, 0)
	}
	if err != nil {
		no = a.refusalOf(opAlterConfigs, err)
	}
	return see, end, no
}

func (a *API) alterTopic(ctx context.Context, s *bridge.Session, see sight, alter *alteration, validateOnly bool) *refusal {
	t, code := see.find(topicRef{name: alter.name}, permissions.Manage)
	var own map[string]string
	switch code {
	case none:
		var err error
		if own, err = a.ownSettings(t); err != nil {
			return storeRefusal(err) // it is being made
		}
	case unknownTopicOrPartition: // what is wrong with the settings comes first
	default:
		return &refusal{code: code, text: *errorText(code)}
	}
	settings, no := a.changed(own, alter)
	switch {
	case no != nil:
		return no
	case alter.name == "":
		return refuse(invalidRequest, "Default topic resources are not allowed.")
	}
	if err := bridge.ValidateTopicName(alter.name); err != nil {
		return refuse(invalidTopicException, "%s", err.Error())
	}
	if no := a.checkSettings(settings); no != nil {
		return no
	}
	switch {
	case code != none:
		return refuse(code, "The topic '%s' does not exist.", alter.name)
	case t.Internal:
		return refuse(invalidTopicException, "Topic '%s' is internal.", alter.name)
	case validateOnly:
		return nil
	}
	return a.setSettings(ctx, s, t, own, settings)
}

// changed is what a topic's settings are to be.
func (a *API) changed(own map[string]string, alter *alteration) (map[string]string, *refusal) {
	if alter.replace {
		own = nil
	}
	settings, err := a.configs.Apply(own, alter.changes)
	switch {
	case errors.Is(err, topicconfig.ErrUnknownOp): // on which a broker stumbles
		return nil, &refusal{code: unknownServerError}
	case err != nil:
		return nil, refuse(invalidConfig, "%s", err.Error())
	}
	return settings, nil
}
