// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package packages tests what users download: it makes a release for this machine, twice, and looks into it, unpacks it
// and runs it as they do.
package packages
