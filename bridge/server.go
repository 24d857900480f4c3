// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// ServerStats is what Iggy says of itself: its version, since when it runs. The gateway's own user needs the permission to read
// servers for it.
func (b *Bridge) ServerStats(ctx context.Context) (iggywire.Stats, error) {
	a, err := ask(ctx, b.control, iggywire.Bare(iggywire.CodeGetStats), true)
	if err != nil {
		return iggywire.Stats{}, err
	}
	return parse(a, iggywire.ParseStats)
}
