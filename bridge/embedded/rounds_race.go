// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package embedded

// passwordRounds is little: the race detector makes a round seven times as slow,
// and finds no more in the thousandth than in the first.
const passwordRounds = 1_000
