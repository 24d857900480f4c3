// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

func TestDefaultConfigIsValid(t *testing.T) {
	cfg := coordinator.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

func TestConfigValidateGathersAllFaults(t *testing.T) {
	cfg := coordinator.DefaultConfig()
	cfg.MinSessionTimeout = time.Hour
	cfg.InitialRebalanceDelay = -1
	cfg.CheckInterval = 0
	cfg.MaxGroupSize = 0
	_, err := coordinator.NewDriver(coordinator.DriverConfig{Config: cfg})
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"coordinator: config: MaxSessionTimeout 30m0s is below MinSessionTimeout 1h0m0s",
		"coordinator: config: InitialRebalanceDelay -1ns is negative",
		"coordinator: config: CheckInterval 0s is not positive",
		"coordinator: config: MaxGroupSize 0 is not positive",
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if err := (&coordinator.Config{}).Validate(); strings.Count(err.Error(), "\n") != 11 {
		t.Errorf("of an empty configuration:\n%v", err)
	}
}
