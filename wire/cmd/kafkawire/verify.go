// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire/internal/probe"
)

func verify(ctx context.Context, std streams, args []string) error {
	set := flags(std, "verify", "HOST:PORT")
	timeout := set.Duration("timeout", 10*time.Second, "for connecting, and for each answer")
	table := set.Bool("table", false, "the server must advertise what this release of the gateway serves, no more and no less")
	if err := parse(set, args, 1); err != nil {
		return err
	}
	absent := probe.Absent{Name: "kafkawire-absent-" + strings.ToLower(rand.Text())}
	rand.Read(absent.ID[:])
	v := probe.Verifier{Addr: set.Arg(0), Timeout: *timeout, Absent: absent, Table: *table}
	checks, err := v.Verify(ctx)
	if err != nil {
		return err
	}
	failed, err := probe.WriteTable(std.out, checks)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s fails %d of %d checks", v.Addr, failed, len(checks))
	}
	return err
}
