// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite holds the end-to-end tests: real clients against the gateway, over the network. Each test has one body
// and runs against every target of the harness. Where a broker is the target, it is the reference: what fails there
// is wrong in the test.
package suite
