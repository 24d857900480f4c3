// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package packages tests what users download: it makes a release for this machine, twice, and looks into it, unpacks it
// and runs it as they do; and that the settings that deploy/ ships are ones that the gateway takes.
package packages
