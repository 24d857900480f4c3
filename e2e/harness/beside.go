// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import "context"

// StartBeside runs another gateway on a target's Iggy, as happens when a second one is started by mistake. The target
// that is returned is that gateway alone.
func StartBeside(ctx context.Context, t *Target, bin Binaries, dir string, settings ...string) (*Target, error) {
	beside := &Target{Name: t.Name + "-beside", Durable: t.Durable, Iggy: t.Iggy}
	return beside, beside.startGateway(ctx, bin, dir, append(iggySettings(t.Iggy), settings...))
}
