// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package probe is what the kafkawire command does: it makes valid requests of every API and version, sends them to a
// server, and judges the answers.
package probe
