// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
)

// Markdown returns the APIs served as a Markdown table, for the page that lists what is supported.
func (t *Table) Markdown() string {
	var b strings.Builder
	b.WriteString("| key | API | versions served | advertised |\n|---:|---|---|---|\n")
	for _, api := range t.APIs() {
		if api.Served {
			advertised := versions(api.AdvertisedMin, api.Max)
			if api.Hidden {
				advertised += ", where clients authenticate"
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", api.Key, api.Name, versions(api.Min, api.Max), advertised)
		}
	}
	return b.String()
}

func versions(low, high int16) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}
