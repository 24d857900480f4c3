// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package structure tests what no single module can: who imports whom, the licence headers, the list of modules.
package structure
