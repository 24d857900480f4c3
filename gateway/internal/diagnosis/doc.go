// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis tells apart what goes wrong between two machines, by the errors of Go's packages and by what clocks show. What
// it means where it was met, and what to do about it, is for those to say who explain it: the start of the gateway, its log, and
// the doctor.
package diagnosis
