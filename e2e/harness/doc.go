// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness starts and stops what the end-to-end tests talk to: the gateway and the embedded Iggy server as
// processes of their own, built from this repository. It knows nothing of the tests and returns errors, so that
// benchmarks use it too.
//
// Environment: IGGY_ADDR (IGGY_USERNAME, IGGY_PASSWORD) names a real Iggy server, KAFKA_ADDR a Kafka broker to compare
// with; E2E_RACE=true builds the binaries under the race detector; E2E_LOGS names a folder that keeps their logs.
package harness
