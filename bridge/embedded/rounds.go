// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

// passwordRounds makes trying passwords against a stolen data folder slow, and
// a login about as expensive as a real server's.
const passwordRounds = 100_000
