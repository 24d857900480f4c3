// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// DescribeConfigs (32), v1-4.
//
// v1: sources and synonyms (KIP-226). v2: throttled later (KIP-219). v3: types and documentation (KIP-569). v4: flexible.

// Types of resources that a request may name beside topics and brokers (org.apache.kafka.common.config.ConfigResource).
const (
	groupResource         kmsg.ConfigResourceType = 32
	clientMetricsResource kmsg.ConfigResourceType = 16
)

// description is what is to be told of one resource: settings, or why not.
type description struct {
	resource *kmsg.DescribeConfigsRequestResource
	topic    bool
	own      map[string]string     // of a topic
	broker   []topicconfig.Setting // otherwise
	refused  *refusal
}

func (a *API) describeConfigs(ctx context.Context, conn *server.Conn, req *kmsg.DescribeConfigsRequest) (server.Reply, error) {
	asking, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	described := make([]description, len(req.Resources))
	for i := range described {
		described[i].resource = &req.Resources[i]
	}
	if slices.ContainsFunc(req.Resources, hasUnknownType) {
		for i := range described {
			described[i].refused = refuse(invalidRequest, textMalformed)
		}
	} else {
		a.lookUpResources(asking, conn, described)
	}
	size := 64
	for i := range described {
		size += a.descriptionSize(req, &described[i])
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Version = req.Version
	resp.Resources = make([]kmsg.DescribeConfigsResponseResource, 0, len(described))
	for i := range described {
		resp.Resources = append(resp.Resources, a.describeResource(req, &described[i]))
	}
	return server.NewReservedReply(resp, release), nil
}

// hasUnknownType: one such resource spoils the whole request, as a broker does not get to look at the others.
func hasUnknownType(r kmsg.DescribeConfigsRequestResource) bool {
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger, clientMetricsResource, groupResource:
		return false
	}
	return true
}

// lookUpResources finds what is to be told.
func (a *API) lookUpResources(ctx context.Context, conn *server.Conn, all []description) {
	var topics []topicRef
	for i := range all {
		if d := &all[i]; d.resource.ResourceType == kmsg.ConfigResourceTypeTopic && a.Bridge != nil {
			topics = append(topics, topicRef{name: d.resource.ResourceName})
		}
	}
	var see sight
	var err error
	if len(topics) > 0 {
		a.awaitSettings(ctx)
		see, err = a.topicsNamed(ctx, conn, topics)
	} else {
		see.access, err = a.access(ctx, conn)
	}
	known := map[string]*description{} // topics that were looked up: a few bytes are enough to name one again
	for i := range all {
		d := &all[i]
		switch name := d.resource.ResourceName; {
		case d.resource.ResourceType == kmsg.ConfigResourceTypeTopic:
			d.topic = true
			if same, ok := known[name]; ok {
				d.own, d.refused = same.own, same.refused
				continue
			}
			known[name] = d
			d.own, d.refused = a.settingsOf(see, err, name)
		case err != nil:
			d.refused = a.refusalOf(opDescribeConfigs, err)
		case d.resource.ResourceType == kmsg.ConfigResourceTypeBroker:
			d.broker, d.refused = a.settingsOfBroker(see.access, name)
		default:
			d.refused = refuse(invalidRequest, "Resources of type %d have no settings here.", d.resource.ResourceType)
		}
	}
}

// settingsOf finds a topic's own settings, or says why they are not told; err is why the topics could not be looked at.
func (a *API) settingsOf(see sight, err error, name string) (map[string]string, *refusal) {
	if invalid := bridge.ValidateTopicName(name); invalid != nil {
		return nil, refuse(invalidTopicException, "%s", invalid.Error())
	}
	if a.Bridge == nil {
		return nil, refuse(notController, textNotController)
	}
	if err == nil {
		t, code := see.find(topicRef{name: name}, permissions.Read)
		switch code {
		case unknownTopicOrPartition:
			return nil, &refusal{code: code} // and no text, as a broker
		case none:
			var own map[string]string
			if own, err = a.ownSettings(t); err == nil {
				return own, nil
			}
		default:
			return nil, &refusal{code: code, text: *errorText(code)}
		}
	}
	return nil, a.refusalOf(opDescribeConfigs, err)
}

// settingsOfBroker are the gateway's, or none for the cluster: nothing is set for all brokers.
func (a *API) settingsOfBroker(access *permissions.Access, name string) ([]topicconfig.Setting, *refusal) {
	if name != "" {
		id, err := strconv.ParseInt(name, 10, 32)
		switch {
		case err != nil:
			return nil, refuse(invalidRequest, "Broker id must be an integer, but it is: %s", name)
		case int32(id) != a.NodeID:
			return nil, refuse(invalidRequest, "Unexpected broker id, expected %d or empty string, but received %s", a.NodeID, name)
		}
	}
	switch {
	case !access.MayReadServers():
		return nil, refuse(clusterAuthFailed, textNoCluster)
	case name == "":
		return nil, nil
	}
	return a.brokerSettings, nil
}

// entries calls yield for each setting of a resource that is asked for.
func (a *API) entries(d *description, yield func(topicconfig.Setting, *topicconfig.Key)) {
	names := d.resource.ConfigNames
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	if !d.topic {
		for _, s := range d.broker {
			if wanted(s.Name) {
				yield(s, nil)
			}
		}
		return
	}
	for i := range a.configs.All() {
		key := &a.configs.All()[i]
		if !wanted(key.Name) {
			continue
		}
		s := topicconfig.Setting{Name: key.Name, Value: key.Default, Type: key.Type, Default: true, Doc: key.Doc}
		if value, ok := d.own[key.Name]; ok {
			s.Value, s.Default = key.Canonical(value), false
		}
		yield(s, key)
	}
}

// descriptionSize bounds what a resource takes in the answer, in bytes.
func (a *API) descriptionSize(req *kmsg.DescribeConfigsRequest, d *description) int {
	size := 64 + len(d.resource.ResourceName)
	if d.refused != nil {
		return size + len(d.refused.text)
	}
	a.entries(d, func(s topicconfig.Setting, key *topicconfig.Key) {
		entry := len(s.Name) + len(s.Value) + 24
		size += entry
		if req.IncludeSynonyms {
			size += entry
			if key != nil {
				size += len(key.Broker) + len(key.Default) + 16
			}
		}
		if req.IncludeDocumentation {
			size += len(s.Doc)
		}
	})
	return size
}

func (a *API) describeResource(req *kmsg.DescribeConfigsRequest, d *description) kmsg.DescribeConfigsResponseResource {
	out := kmsg.NewDescribeConfigsResponseResource()
	out.ResourceType, out.ResourceName = d.resource.ResourceType, d.resource.ResourceName
	out.ErrorMessage = kmsg.StringPtr("") // also without an error, as a broker
	if d.refused != nil {
		out.ErrorCode, out.ErrorMessage = d.refused.code, &d.refused.text
		return out
	}
	a.entries(d, func(s topicconfig.Setting, key *topicconfig.Key) {
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		c.Name, c.Value, c.ConfigType = s.Name, &s.Value, kmsg.ConfigType(s.Type)
		c.ReadOnly, c.IsSensitive = key == nil, s.Secret
		if s.Secret {
			c.Value = nil
		}
		c.Source = kmsg.ConfigSourceDefaultConfig
		switch {
		case s.Default:
		case key != nil:
			c.Source = kmsg.ConfigSourceDynamicTopicConfig
		default:
			c.Source = kmsg.ConfigSourceStaticBrokerConfig
		}
		if req.IncludeSynonyms {
			c.ConfigSynonyms = synonyms(&c, key)
		}
		if req.IncludeDocumentation {
			c.Documentation = &s.Doc
		}
		out.Configs = append(out.Configs, c)
	})
	return out
}

// synonyms are where a setting's value comes from, and what would count without it: the first that is set does.
func synonyms(c *kmsg.DescribeConfigsResponseResourceConfig, key *topicconfig.Key) (all []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym) {
	add := func(name string, value *string, source kmsg.ConfigSource) {
		s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		s.Name, s.Value, s.Source = name, value, source
		all = append(all, s)
	}
	if key == nil || c.Source != kmsg.ConfigSourceDefaultConfig {
		add(c.Name, c.Value, c.Source)
	}
	if key != nil && key.Broker != "" {
		add(key.Broker, &key.Default, kmsg.ConfigSourceDefaultConfig)
	}
	return all
}
