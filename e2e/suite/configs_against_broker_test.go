// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestConfigsAgainstBroker changes the settings of a topic at random at a broker and the gateway: each answer must be the same,
// and what is set afterwards. It needs a broker, as TestAgainstBroker does.
func TestConfigsAgainstBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	kinds := harness.Kinds()
	reference := slices.IndexFunc(kinds, func(k harness.Kind) bool { return k.Reference })
	if reference < 0 {
		t.Skip("no broker to compare with: E2E_KAFKA=true starts one")
	}
	build := builder(t)
	broker := start(t, kinds[reference], build)
	gateway := start(t, kinds[0], build)
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			want, got := randomConfigs(t, broker, seed), randomConfigs(t, gateway, seed)
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("seed %d (-broker +gateway):\n%s", seed, diff)
			}
		})
	}
}

// randomValues are what settings of each type are set to: what is right for some and wrong for others.
func randomValues() map[kmsg.ConfigType][]string {
	numbers := []string{"0", "1", "-1", "-2", "7", " 12 ", "+5", "1048576", "2147483647", "2147483648", "9223372036854775807", "", "x", "1.5", "0x10"}
	return map[kmsg.ConfigType][]string{
		kmsg.ConfigTypeInt: numbers, kmsg.ConfigTypeLong: numbers,
		kmsg.ConfigTypeDouble:  {"0", "1", "0.25", " 0.5 ", "-0.1", "1.5", "x", ""},
		kmsg.ConfigTypeBoolean: {"true", "false", " TRUE ", "yes", ""},
		kmsg.ConfigTypeList:    {"delete", "compact", "compact,delete", " compact , delete ", "delete,", ",", "", "0:1", "0:1,1:1", "*", "x", "delete,delete"},
		kmsg.ConfigTypeString:  {"zstd", "gzip", "producer", "uncompressed", "CreateTime", "LogAppendTime", " zstd", "GZIP", ""},
	}
}

func randomConfigs(t *testing.T, target *harness.Target, seed uint64) string {
	const steps, looks = 60, 10
	s, r := newTranscript(t, target), rand.New(rand.NewPCG(seed, 1))
	topic := s.create("topic", 2)
	all := describeConfigsRequest(topicConfig, topic.name)
	keys := askRaw[*kmsg.DescribeConfigsResponse](t, s.conn, all).Resources[0].Configs
	slices.SortFunc(keys, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return strings.Compare(a.Name, b.Name) })
	values := randomValues()
	change := func() setting {
		key := keys[r.IntN(len(keys))]
		of := values[key.ConfigType]
		c := setting{name: key.Name, value: &of[r.IntN(len(of))]}
		switch r.IntN(10) {
		case 0, 1:
			c.op = kmsg.IncrementalAlterConfigOpDelete
		case 2, 3:
			c.op = kmsg.IncrementalAlterConfigOpAppend
		case 4:
			c.op = kmsg.IncrementalAlterConfigOpSubtract
		}
		if r.IntN(3) == 0 { // the setting that has most to say
			c.name, c.value = "cleanup.policy", &values[kmsg.ConfigTypeList][r.IntN(6)]
		}
		return c
	}
	for i := range steps {
		var req kmsg.Request
		if r.IntN(6) == 0 {
			replace := alterConfigsRequest(topicConfig, topic.name)
			for _, c := range []setting{change(), change()} {
				replace.Resources[0].Configs = append(replace.Resources[0].Configs, kmsg.AlterConfigsRequestResourceConfig{Name: c.name, Value: c.value})
			}
			replace.Version, replace.ValidateOnly, req = 2, r.IntN(5) == 0, replace
		} else {
			alter := incrementalRequest(topicConfig, topic.name)
			for n := range 1 + r.IntN(2) {
				c := change()
				if n > 0 { // of two that cannot be done a broker tells any
					c.op %= kmsg.IncrementalAlterConfigOpAppend
				}
				alter.Resources[0].Configs = append(alter.Resources[0].Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: c.name, Value: c.value, Op: c.op})
			}
			alter.Version, alter.ValidateOnly, req = 1, r.IntN(5) == 0, alter
		}
		s.ask(fmt.Sprintf("%d: %s", i, wantedConfigs(req)), req)
		if i%looks == looks-1 {
			s.note("what is set", all, settledConfigs(t, s, topic, fmt.Sprint(1_000_000+i)), nil)
		}
	}
	return s.text.String()
}

// wantedConfigs is what a request asks for, for people.
func wantedConfigs(req kmsg.Request) string {
	var text strings.Builder
	resource := reflect.ValueOf(req).Elem().FieldByName("Resources").Index(0)
	for i, configs := 0, resource.FieldByName("Configs"); i < configs.Len(); i++ {
		c := configs.Index(i)
		op := kmsg.IncrementalAlterConfigOpSet
		if field := c.FieldByName("Op"); field.IsValid() {
			op = field.Interface().(kmsg.IncrementalAlterConfigOp)
		}
		fmt.Fprintf(&text, "%v %v %q; ", op, c.FieldByName("Name"), c.FieldByName("Value").Elem())
	}
	return text.String()
}

// settledConfigs asks until the answer has a mark that is set last: a broker takes a moment for changes, one after the other. What
// is not set is left out: not all defaults are the same.
func settledConfigs(t *testing.T, s *transcript, topic topicRef, mark string) kmsg.Response {
	t.Helper()
	const marked = "segment.jitter.ms"
	set := incrementalRequest(topicConfig, topic.name, marked+"="+mark)
	if told := askRaw[*kmsg.IncrementalAlterConfigsResponse](t, s.conn, set).Resources[0]; told.ErrorCode != 0 {
		t.Fatalf("marking %s: %v", topic.name, *told.ErrorMessage)
	}
	var resp *kmsg.DescribeConfigsResponse
	if !await(t, func() bool {
		resp = askRaw[*kmsg.DescribeConfigsResponse](t, s.conn, describeConfigsRequest(topicConfig, topic.name))
		return slices.ContainsFunc(resp.Resources[0].Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool {
			return c.Name == marked && *c.Value == mark
		})
	}) {
		t.Fatalf("%s does not come to be %s", marked, mark)
	}
	configs := &resp.Resources[0].Configs
	*configs = slices.DeleteFunc(*configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool {
		return c.Source != kmsg.ConfigSourceDynamicTopicConfig
	})
	return resp
}
