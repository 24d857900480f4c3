// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"errors"
)

// fixed is a storage of one partition that holds what it holds.
type fixed []Message

func (f fixed) Partitions() int { return 1 }

func (f fixed) Bounds(context.Context, int) (first, next int64, err error) {
	return 0, int64(len(f)), nil
}

func (f fixed) Append(context.Context, int, []Message) (int64, error) {
	return 0, errors.New("read only")
}

func (f fixed) Read(_ context.Context, _ int, from int64, limit int) ([]Message, error) {
	from = min(from, int64(len(f)))
	return f[from:min(from+int64(limit), int64(len(f)))], nil
}
