// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// administer does with a client what administrators do besides what applications do: grow the topic, change its settings in
// both of Kafka's ways, and set a quota.
func (a *application) administer() {
	a.t.Helper()
	a.step("grow topic", a.growTopic)
	// Settings are set by one client and replaced by another where the library has one of both ways only.
	altered := map[string]string{"retention.ms": "3600000", "max.message.bytes": "2000000"}
	a.step("alter settings", func() error {
		if err := a.AlterSettings(within(a.t, limit), a.topic, altered); err != nil {
			return errors.Join(err, clients.Franz{Addr: a.addr}.AlterSettings(within(a.t, limit), a.topic, altered))
		}
		more := map[string]string{"cleanup.policy": "compact,delete"}
		if err := a.AlterSettings(within(a.t, limit), a.topic, more); err != nil {
			return err
		}
		maps.Copy(altered, more)
		return nil
	})
	a.step("describe settings", func() error { return a.expectSettings(altered) })
	a.step("replace settings", func() error {
		if err := a.ReplaceSettings(within(a.t, limit), a.topic, map[string]string{"retention.ms": "7200000"}); err != nil {
			return err
		}
		return a.expectSettings(map[string]string{"retention.ms": "7200000", "max.message.bytes": "1048588", "cleanup.policy": "delete"})
	})
	a.step("refuse a setting", a.refuseSetting)
	a.step("quotas", a.changeQuota)
}

func (a *application) growTopic() error {
	grown := len(a.written) + 1
	if err := a.GrowTopic(within(a.t, limit), a.topic, grown); err != nil {
		return err
	}
	if a.GrowTopic(within(a.t, limit), a.topic, 1) == nil {
		return errors.New("the topic was given fewer partitions")
	}
	n, err := 0, error(nil)
	if !await(a.t, func() bool { // a broker's own metadata is late
		n, err = a.Partitions(within(a.t, limit), a.topic)
		return err != nil || n == grown
	}) {
		return fmt.Errorf("there are %d partitions, want %d", n, grown)
	}
	return err
}

func (a *application) expectSettings(want map[string]string) error {
	return expectSettings(a.t, a, a.topic, want)
}

// expectSettings waits until a topic has settings: a broker takes a moment for that.
func expectSettings(t *testing.T, client clients.Administrator, topic string, want map[string]string) error {
	got, err := map[string]string{}, error(nil)
	if !await(t, func() bool {
		var all map[string]string
		all, err = client.Settings(within(t, limit), topic)
		for name := range want {
			got[name] = all[name]
		}
		return err != nil || maps.Equal(got, want)
	}) {
		return fmt.Errorf("settings are %v, want %v", got, want)
	}
	return err
}

// refuseSetting changes a setting in one of the ways that the library has to what it cannot be.
func (a *application) refuseSetting() error {
	wrong := map[string]string{"retention.ms": "long"}
	err := a.AlterSettings(within(a.t, limit), a.topic, wrong)
	if errors.Is(err, clients.ErrLacking) {
		err = a.ReplaceSettings(within(a.t, limit), a.topic, wrong)
	}
	switch {
	case err == nil:
		return errors.New("a value that is no number was taken")
	case errors.Is(err, clients.ErrLacking):
		return err
	}
	return nil
}

func (a *application) changeQuota() error {
	for _, rate := range []float64{1e9, 2e9, 0} {
		if err := a.SetProducerRate(within(a.t, limit), a.topic, rate); err != nil {
			return err
		}
		got, err := 0.0, error(nil)
		if !await(a.t, func() bool { // as with settings
			got, err = a.ProducerRate(within(a.t, limit), a.topic)
			return err != nil || got == rate
		}) {
			return fmt.Errorf("the rate is %v, want %v", got, rate)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
