// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness starts and stops what the end-to-end tests talk to, as processes of their own: the gateway and the
// embedded Iggy server, built from this repository, and the Kafka broker that they are compared with. It knows nothing
// of the tests and returns errors, so that benchmarks use it too.
//
// Environment: IGGY_ADDR (IGGY_USERNAME, IGGY_PASSWORD) names a real Iggy server; E2E_KAFKA=true adds a Kafka broker of
// the harness's own to what is tested, KAFKA_ADDR the one that it names; E2E_RACE=true builds the binaries under the race
// detector; E2E_LOGS names a folder that keeps their logs.
package harness
