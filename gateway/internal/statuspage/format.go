// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

// unknown stands where a figure is not known.
const unknown = "–"

// maxShown is how many bytes of what clients name are shown.
const maxShown = 128

// brief is a name that may be shown in full, or how it begins.
func brief(name string) string {
	if len(name) <= maxShown {
		return name
	}
	return excerpt.Cut(name, maxShown) + "… (" + byteSize(int64(len(name))) + ")"
}

// key is by what a row is told from the others of its table: its name, or what stands for a long one.
func key(name string) string {
	if len(name) <= maxShown {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// number groups the digits of a count by thousands: 1,234,567.
func number[T int | int32 | int64 | uint64](n T) string {
	digits := fmt.Sprint(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// anyNumber is number for templates.
func anyNumber(n any) (string, error) {
	switch n := n.(type) {
	case int:
		return number(n), nil
	case int32:
		return number(n), nil
	case int64:
		return number(n), nil
	case uint64:
		return number(n), nil
	}
	return "", fmt.Errorf("statuspage: %T is no number", n)
}

// byteSize is a size in the largest unit of which there is at least one: 1.5 MiB.
func byteSize(n int64) string { return bytesIn(float64(n)) }

func bytesIn(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	unit := 0
	for n >= 1023.95 && unit < len(units)-1 { // which would be rounded to 1,024.0
		n /= 1024
		unit++
	}
	return short(n, unit > 0) + " " + units[unit]
}

// short is a figure with three digits where it may have decimals, at least.
func short(n float64, decimals bool) string {
	if decimals && n < 99.95 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return number(int64(math.Round(n)))
}

// perSecond is how many messages come in a second.
func perSecond(r overview.Rate) string {
	switch {
	case !r.Known:
		return unknown
	case r.Messages == 0:
		return "0"
	}
	return short(r.Messages, true)
}

// bytesPerSecond is how many bytes come in a second.
func bytesPerSecond(r overview.Rate) string {
	if !r.Known {
		return unknown
	}
	return bytesIn(r.Bytes) + "/s"
}

// span is a duration in its two largest units: 3 d 4 h.
func span(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s d %d h", number(int64(d/day)), d%day/time.Hour)
}

// ago is how long before now something was.
func ago(now, t time.Time) string {
	if d := now.Sub(t); d >= time.Second {
		return span(d) + " ago"
	}
	return "now"
}

// stamp is a time for machines, and for who looks closely.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clock is the time of day.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// day is a time with its day.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// plural is a count with what is counted.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// ranges is a list of ascending numbers with runs drawn together: 0–3, 5.
func ranges(numbers []int32) string {
	out := ""
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if out != "" {
			out += ", "
		}
		out += strconv.Itoa(int(numbers[i]))
		if j > i {
			out += "–" + strconv.Itoa(int(numbers[j]))
		}
		i = j + 1
	}
	return out
}
