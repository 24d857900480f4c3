// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite holds the end-to-end tests: real clients against the gateway, over the network. Each test has one body
// and runs against every target of the harness. Where a broker is the target, it is the reference: what fails there
// is wrong in the test.
//
// Clients for Go run against every target. The others, in Python, Node and Java, are started as programs and take
// their time: what they are put through as groups runs once, see slowClients. A test whose tool is missing skips, or
// fails if REQUIRE_<TOOL>=true (kcat, java, python3, node). E2E_REPORT names a file that gets a row for each client.
//
// Tests whose names begin with PB are of faults that others were seen with, servers, proxies and clients. Most send requests
// by hand and compare each field of the answers with a broker's, see transcript. The scripts of testParity do so for each API
// that is served, at the boundaries of its versions; TestParityCovers fails where one is missing.
package suite
