// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes checks as a table, and how many failed, which it returns.
func WriteTable(w io.Writer, checks []Check) (failed int, err error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tAPI\tVERSION\tWANT\tRESULT\tDETAIL")
	for _, c := range checks {
		result, detail := "ok", c.Detail
		if c.Want == Skipped {
			result = "-"
		}
		if c.Err != nil {
			failed++
			result, detail = "FAILED", fmt.Sprint(c.Err)
			if c.Detail != "" {
				detail = c.Detail + ": " + detail
			}
		}
		fmt.Fprintf(table, "%d\t%s\t%d\t%s\t%s\t%s\n", c.Key, c.API, c.Version, c.Want, result, detail)
	}
	if err := table.Flush(); err != nil {
		return failed, err
	}
	_, err = fmt.Fprintf(w, "%d checks, %d failed\n", len(checks), failed)
	return failed, err
}
