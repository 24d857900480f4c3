// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package mapping turns Kafka records into Iggy messages and back.
package mapping
