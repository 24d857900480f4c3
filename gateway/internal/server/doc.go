// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package server is the gateway's network edge: it accepts connections, reads requests through wire's firewall,
// hands them to a Handler, and writes the answers in the order of the requests.
package server
