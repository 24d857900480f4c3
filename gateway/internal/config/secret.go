// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import "log/slog"

const mask = "******"

// Secret is a string that shows as a mask wherever it is printed, logged or encoded.
type Secret string

// Reveal returns the secret itself, for the call that needs it.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString masks the secret under the verb %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText masks the secret in JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue masks the secret in log lines.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
